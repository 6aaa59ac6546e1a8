'use strict';
// The REST API, as far as a GitHub App needs it: one table of routes, each with what it takes as
// authorization: the App's JWT, an installation's token, a user's, or nothing.

const answers = require('./answers.js');
const jwt = require('./jwt.js');
const oauth = require('./oauth.js');

const LEVELS = { read: 1, write: 2, admin: 3 };

function getApp({ state, res }) {
  const { id, slug, client_id, name, permissions } = state.all.app;
  answers.json(res, 200, { id, slug, client_id, name, permissions, events: [] });
}

function listInstallations({ state, res, url, base }) {
  const { items, headers } = answers.page(state.installations(), url, base);
  answers.json(res, 200, items.map((entry) => answers.installation(state, base, entry)), headers);
}

function getInstallation({ state, res, base, args }) {
  const found = state.installation(args[0]);
  if (!found) return answers.error(res, 404, 'Not Found');
  answers.json(res, 200, answers.installation(state, base, found));
}

// The ids asked for, null for "all", or undefined if one of them is not the installation's.
function askedRepos(state, installation, body) {
  if (!body.repository_ids && !body.repositories) return null;
  const byName = (name) => state.repos()
    .find((repo) => repo.full_name.split('/')[1].toLowerCase() === String(name).toLowerCase())?.id;
  const ids = [...(body.repository_ids ?? []), ...(body.repositories ?? []).map(byName)];
  return ids.every((id) => installation.repositories.includes(id)) ? ids : undefined;
}

function createToken({ state, res, base, web, args, body }) {
  const installation = state.installation(args[0]);
  if (!installation) return answers.error(res, 404, 'Not Found');
  if (installation.suspended_at)
    return answers.error(res, 403, 'This installation has been suspended');
  const ids = askedRepos(state, installation, body);
  if (ids === undefined)
    return answers.error(res, 422,
      'There is at least one repository that does not exist or is not accessible to the parent installation.');
  const permissions = body.permissions ?? installation.permissions;
  const isGranted = ([name, level]) => LEVELS[level] <= LEVELS[installation.permissions[name]];
  if (!Object.entries(permissions).every(isGranted))
    return answers.error(res, 422,
      'The permissions requested are not granted to this installation.');

  const granted = { ...permissions, metadata: 'read' };
  const { token, expires } = state.mintToken(installation, ids, granted);
  const answer = {
    token,
    expires_at: new Date(expires).toISOString().replace(/\.\d+Z$/, 'Z'),
    permissions: granted,
    repository_selection: ids ? 'selected' : installation.repository_selection ?? 'selected',
  };
  if (ids) answer.repositories = ids.map((id) => answers.repo(state, base, web, state.repo(id)));
  answers.json(res, 201, answer);
}

function deleteToken({ state, res, token }) {
  state.dropToken(token);
  answers.empty(res, 204);
}

function listRepositories({ state, res, url, base, web, grant }) {
  const { items, headers } = answers.page(grant.repoIds, url, base);
  answers.json(res, 200, {
    total_count: grant.repoIds.length,
    repository_selection: grant.installation.repository_selection ?? 'selected',
    repositories: items.map((id) => answers.repo(state, base, web, state.repo(id))),
  }, headers);
}

// The Repo of the path, if this token sees it; otherwise it was answered.
function findRepo({ state, res, base, args, grant }) {
  const { repo, moved } = state.repoByName(`${args[0]}/${args[1]}`);
  if (moved && grant.repoIds.includes(moved.id)) {
    answers.moved(res, base, moved);
    return null;
  }
  if (repo && grant.repoIds.includes(repo.id)) return repo;
  answers.error(res, 404, 'Not Found');
  return null;
}

function getRepo(call) {
  const repo = findRepo(call);
  if (repo) answers.json(call.res, 200, answers.repo(call.state, call.base, call.web, repo));
}

function getRepoById({ state, res, base, web, args, grant }) {
  const repo = state.repo(args[0]);
  if (!repo || !grant.repoIds.includes(repo.id)) return answers.error(res, 404, 'Not Found');
  answers.json(res, 200, answers.repo(state, base, web, repo));
}

function getRepoInstallation({ state, res, base, args }) {
  const { repo, moved } = state.repoByName(`${args[0]}/${args[1]}`);
  if (moved) return answers.moved(res, base, moved);
  const installation = repo && state.installationOf(repo.id);
  if (!installation) return answers.error(res, 404, 'Not Found');
  answers.json(res, 200, answers.installation(state, base, installation));
}

function checkCollaborator(call) {
  const repo = findRepo(call);
  if (!repo) return;
  if (call.state.roleOf(repo, call.args[2])) answers.empty(call.res, 204);
  else answers.error(call.res, 404, 'Not Found');
}

function getPermission(call) {
  const repo = findRepo(call);
  if (!repo) return;
  const user = call.state.user(call.args[2]);
  if (!user) return answers.error(call.res, 404, 'Not Found');
  const isPublic = !(repo.private ?? true);
  const role = call.state.roleOf(repo, user.login) ?? (isPublic ? 'read' : 'none');
  answers.json(call.res, 200, {
    permission: role,
    role_name: role,
    user: answers.account(call.state, user.login),
  });
}

function getUser({ state, res, args }) {
  const user = state.user(args[0]);
  if (!user) return answers.error(res, 404, 'Not Found');
  answers.json(res, 200, {
    ...answers.account(state, user.login),
    name: user.name ?? null,
    avatar_url: user.avatar_url ?? '',
  });
}

function getMyself({ state, res, login }) {
  const user = state.user(login);
  if (!user) return answers.error(res, 401, 'Bad credentials');
  answers.json(res, 200, {
    ...answers.account(state, user.login),
    name: user.name ?? null,
    avatar_url: user.avatar_url ?? '',
  });
}

function getUserById({ state, res, args }) {
  const login = Object.keys(state.all.users).find((name) => state.user(name).id === Number(args[0]));
  if (!login) return answers.error(res, 404, 'Not Found');
  answers.json(res, 200, { ...answers.account(state, login), name: state.user(login).name ?? null });
}

const PART = '([^/]+)';
const route = (method, path, auth, handler) =>
  ({ method, path: new RegExp(`^${path.replaceAll('*', PART)}$`), auth, handler });

const ROUTES = [
  route('GET', '/app', 'app', getApp),
  route('GET', '/app/installations', 'app', listInstallations),
  route('GET', '/app/installations/*', 'app', getInstallation),
  route('POST', '/app/installations/*/access_tokens', 'app', createToken),
  route('GET', '/repos/*/*/installation', 'app', getRepoInstallation),
  route('GET', '/installation/repositories', 'token', listRepositories),
  route('DELETE', '/installation/token', 'token', deleteToken),
  route('GET', '/repositories/*', 'token', getRepoById),
  route('GET', '/repos/*/*', 'token', getRepo),
  route('GET', '/repos/*/*/collaborators/*', 'token', checkCollaborator),
  route('GET', '/repos/*/*/collaborators/*/permission', 'token', getPermission),
  route('GET', '/users/*', 'any', getUser),
  route('GET', '/user', 'user', getMyself),
  route('GET', '/user/*', 'any', getUserById),
];

// Puts what the caller may do into `call`; false if it was refused.
function authorize(call, auth) {
  if (auth === 'any') return true;
  const sent = /^(?:Bearer|token) (.+)$/i.exec(call.req.headers.authorization ?? '')?.[1] ?? '';
  if (auth === 'app') {
    const message = sent ? jwt.refuse(sent, call.state.all.app, call.publicKey) : 'Requires authentication';
    if (message) answers.error(call.res, 401, message);
    return message === null;
  }
  if (auth === 'user') {
    call.login = oauth.loginOf(sent);
    if (!call.login) answers.error(call.res, 401, sent ? 'Bad credentials' : 'Requires authentication');
    return call.login !== undefined;
  }
  call.token = sent;
  call.grant = call.state.grant(sent);
  if (!call.grant) answers.error(call.res, 401, sent ? 'Bad credentials' : 'Requires authentication');
  return call.grant !== null;
}

// Answers whether there is such a route.
function handle(call) {
  for (const entry of ROUTES) {
    const found = call.req.method === entry.method && entry.path.exec(call.path);
    if (!found) continue;
    if (!call.req.headers['user-agent']) {
      answers.error(call.res, 403,
        'Request forbidden by administrative rules. Please make sure your request has a User-Agent header.');
      return true;
    }
    call.args = found.slice(1).map(decodeURIComponent);
    if (authorize(call, entry.auth)) entry.handler(call);
    return true;
  }
  return false;
}

module.exports = { handle };
