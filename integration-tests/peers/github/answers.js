'use strict';
// How this GitHub writes its answers: headers, errors, shapes, pages.

const crypto = require('crypto');

const DOCS = 'https://docs.github.com/rest';

function headers(extra) {
  return {
    'content-type': 'application/json; charset=utf-8',
    'x-github-request-id': crypto.randomBytes(8).toString('hex').toUpperCase(),
    'x-ratelimit-limit': '5000',
    'x-ratelimit-remaining': '4990',
    'x-ratelimit-used': '10',
    'x-ratelimit-reset': String(Math.floor(Date.now() / 1000) + 3600),
    'x-ratelimit-resource': 'core',
    ...extra,
  };
}

function json(res, status, value, extra) {
  res.writeHead(status, headers(extra));
  res.end(JSON.stringify(value));
}

function empty(res, status) {
  res.writeHead(status, headers());
  res.end();
}

function error(res, status, message, extra) {
  json(res, status, { message, documentation_url: DOCS, status: String(status) }, extra);
}

function moved(res, base, repo) {
  const url = `${base}/repositories/${repo.id}`;
  json(res, 301, { message: 'Moved Permanently', url, documentation_url: DOCS },
    { location: url });
}

function account(state, login) {
  const user = state.user(login);
  return { login: user.login, id: user.id, type: user.type ?? 'User' };
}

function repo(state, base, web, entry) {
  const [owner, name] = entry.full_name.split('/');
  return {
    id: entry.id,
    name,
    full_name: entry.full_name,
    private: entry.private ?? true,
    owner: account(state, owner),
    html_url: `${web}/${entry.full_name}`,
    url: `${base}/repos/${entry.full_name}`,
    clone_url: `${web}/${entry.full_name}.git`,
    description: entry.description ?? null,
    default_branch: entry.default_branch ?? 'main',
    archived: entry.archived ?? false,
    disabled: entry.disabled ?? false,
    fork: false,
    visibility: (entry.private ?? true) ? 'private' : 'public',
  };
}

function installation(state, base, entry) {
  const owner = account(state, entry.account);
  return {
    id: entry.id,
    account: owner,
    app_id: state.all.app.id,
    app_slug: state.all.app.slug,
    target_id: owner.id,
    target_type: owner.type,
    repository_selection: entry.repository_selection ?? 'selected',
    permissions: entry.permissions,
    events: [],
    access_tokens_url: `${base}/app/installations/${entry.id}/access_tokens`,
    repositories_url: `${base}/installation/repositories`,
    suspended_at: entry.suspended_at ?? null,
    suspended_by: null,
  };
}

// One page of a list, and its Link header: 30 a page, at most 100.
function page(list, url, base) {
  const size = Math.min(Math.max(Number(url.searchParams.get('per_page')) || 30, 1), 100);
  const number = Math.max(Number(url.searchParams.get('page')) || 1, 1);
  const last = Math.max(Math.ceil(list.length / size), 1);
  const to = (n, rel) => `<${base}${url.pathname}?per_page=${size}&page=${n}>; rel="${rel}"`;
  const links = [];
  if (number > 1) links.push(to(number - 1, 'prev'), to(1, 'first'));
  if (number < last) links.push(to(number + 1, 'next'), to(last, 'last'));
  return {
    items: list.slice((number - 1) * size, number * size),
    headers: links.length > 0 ? { link: links.join(', ') } : {},
  };
}

module.exports = { json, empty, error, moved, account, repo, installation, page };
