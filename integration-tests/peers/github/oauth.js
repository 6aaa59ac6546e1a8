'use strict';
// Signing in with GitHub: the web application flow of a GitHub App, with PKCE. The page asks which
// of the users is at the browser; `oauth.user` in the state answers for them, `oauth.deny` makes
// them press Cancel.

const crypto = require('crypto');

const readBody = require('../body.js').read;
const answers = require('./answers.js');

const CODE_MS = 10 * 60 * 1000;
const BODY_BYTES_MAX = 64 * 1024;

const codes = new Map();
const tokens = new Map();

const secret = (prefix) => `${prefix}${crypto.randomBytes(20).toString('hex')}`;

function redirect(res, to, parameters) {
  const url = new URL(to);
  for (const [name, value] of Object.entries(parameters))
    if (value !== null && value !== undefined) url.searchParams.set(name, value);
  res.writeHead(302, { location: url.href, 'cache-control': 'no-store' });
  res.end();
}

const escape = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

// One link for each person: whoever is at this browser says who they are.
function askWho(res, url, state) {
  const people = Object.entries(state.all.users).filter(([, user]) => user.type !== 'Organization');
  const links = people.map(([login, user]) => {
    const here = new URL(url);
    here.searchParams.set('as', login);
    const label = escape(`${login}${user.name ? ` (${user.name})` : ''}`);
    return `<li><a href="${escape(here.pathname + here.search)}" id="as-${escape(login)}">${label}</a></li>`;
  });
  res.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
  res.end(`<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>Sign in to the stand-in for GitHub</title><h1>Who are you?</h1>
<p>${escape(state.all.app.name)} wants to know who you are.</p><ul>${links.join('')}</ul></html>`);
}

function authorize({ state, res, url }) {
  const asked = url.searchParams;
  const { app, oauth = {} } = state.all;
  if (asked.get('client_id') !== app.client_id) return answers.error(res, 404, 'Not Found');
  const redirectUri = asked.get('redirect_uri') ?? app.callback_url;
  if (app.callback_url && !redirectUri.startsWith(app.callback_url))
    return redirect(res, app.callback_url, {
      error: 'redirect_uri_mismatch',
      error_description: 'The redirect_uri MUST match the registered callback URL for this application.',
      state: asked.get('state'),
    });
  if (oauth.deny)
    return redirect(res, redirectUri, {
      error: 'access_denied',
      error_description: 'The user has denied your application access.',
      state: asked.get('state'),
    });
  const user = state.user(asked.get('as') ?? oauth.user ?? '');
  if (!user) return askWho(res, url, state);
  const code = secret('').slice(0, 20);
  codes.set(code, {
    login: user.login,
    redirectUri,
    challenge: asked.get('code_challenge'),
    method: asked.get('code_challenge_method'),
    ends: Date.now() + CODE_MS,
  });
  return redirect(res, redirectUri, { code, state: asked.get('state') });
}

// GitHub's errors are answers, too: 200 with `error`.
function exchange(state, asked) {
  const { app } = state.all;
  const bad = (error, error_description) => ({ error, error_description });
  if (asked.client_id !== app.client_id || asked.client_secret !== app.client_secret)
    return bad('incorrect_client_credentials', 'The client_id and/or client_secret passed are incorrect.');
  const found = codes.get(asked.code);
  codes.delete(asked.code);
  const isFresh = found && found.ends > Date.now();
  const sum = crypto.createHash('sha256').update(asked.code_verifier ?? '').digest('base64url');
  const isProven = !found?.challenge || (found.method === 'S256' && found.challenge === sum);
  if (!isFresh || !isProven)
    return bad('bad_verification_code', 'The code passed is incorrect or expired.');
  if (asked.redirect_uri && asked.redirect_uri !== found.redirectUri)
    return bad('redirect_uri_mismatch', 'The redirect_uri MUST match the registered callback URL for this application.');
  const token = secret('ghu_');
  tokens.set(token, found.login);
  return {
    access_token: token,
    expires_in: 28800,
    refresh_token: secret('ghr_'),
    refresh_token_expires_in: 15897600,
    scope: '',
    token_type: 'bearer',
  };
}

async function readForm(req, url) {
  const text = (await readBody(req, BODY_BYTES_MAX)).toString('utf8');
  const type = req.headers['content-type'] ?? '';
  const body = type.startsWith('application/json') ? JSON.parse(text || '{}')
    : Object.fromEntries(new URLSearchParams(text));
  return { ...Object.fromEntries(url.searchParams), ...body };
}

async function giveToken({ state, req, res, url }) {
  const answer = exchange(state, await readForm(req, url));
  if ((req.headers.accept ?? '').includes('application/json')) return answers.json(res, 200, answer);
  res.writeHead(200, { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' });
  return res.end(new URLSearchParams(answer).toString());
}

// Answers whether the path is one of these.
async function handle(call) {
  const route = `${call.req.method} ${call.path}`;
  if (route === 'GET /login/oauth/authorize') authorize(call);
  else if (route === 'POST /login/oauth/access_token') await giveToken(call);
  else return false;
  return true;
}

// Whose user token it is; nothing if it is none.
const loginOf = (token) => tokens.get(token);

module.exports = { handle, loginOf };
