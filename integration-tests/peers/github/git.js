'use strict';
// git's smart HTTP, by git's own CGI, behind GitHub's rules: Basic x-access-token:TOKEN.

const { spawn, execFileSync } = require('child_process');
const fs = require('fs');
const path = require('path');

const BACKEND = '/usr/lib/git-core/git-http-backend';
const PATH = /^\/([^/]+)\/([^/]+?)(?:\.git)?\/(info\/refs|git-upload-pack|git-receive-pack)$/;

// No configuration of this machine, and one date, so that commits are the same everywhere.
const ENV = {
  PATH: '/usr/bin:/bin',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Demo',
  GIT_AUTHOR_EMAIL: 'demo@example.invalid',
  GIT_COMMITTER_NAME: 'Demo',
  GIT_COMMITTER_EMAIL: 'demo@example.invalid',
  GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z',
  GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z',
};

// Makes <root>/<id>.git of the Repo's seed folder, unless it is there.
function seed(root, repo, seeds) {
  const bare = path.join(root, `${repo.id}.git`);
  if (fs.existsSync(bare)) return;
  const work = path.join(root, `${repo.id}.work`);
  const run = (...args) => execFileSync('git', args, { env: ENV, stdio: ['ignore', 'ignore', 'inherit'] });
  fs.rmSync(work, { recursive: true, force: true });
  fs.cpSync(path.join(seeds, repo.seed), work, { recursive: true });
  run('init', '-q', '-b', 'main', work);
  run('-C', work, 'add', '-A');
  run('-C', work, 'commit', '-q', '-m', 'the first files');
  run('clone', '-q', '--bare', work, `${bare}.new`);
  fs.renameSync(`${bare}.new`, bare);
  fs.rmSync(work, { recursive: true, force: true });
}

function plain(res, status, text, extra) {
  res.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...extra });
  res.end(`${text}\n`);
}

function tokenOf(req) {
  const basic = /^Basic (.+)$/i.exec(req.headers.authorization ?? '')?.[1];
  if (!basic) return '';
  return Buffer.from(basic, 'base64').toString('utf8').split(':').slice(1).join(':');
}

function pipeBackend(req, res, url, root, id, action, user) {
  const child = spawn(BACKEND, [], {
    env: {
      ...ENV,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: `/${id}.git/${action}`,
      REQUEST_METHOD: req.method,
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: req.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: req.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: req.headers['git-protocol'] ?? '',
      REMOTE_USER: user,
      REMOTE_ADDR: req.socket.remoteAddress,
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  req.pipe(child.stdin);
  child.stdin.on('error', () => {});
  child.on('error', () => res.destroy());
  res.on('close', () => child.kill());

  let head = Buffer.alloc(0);
  const onData = (chunk) => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    child.stdout.off('data', onData);
    const headers = {};
    for (const line of head.subarray(0, end).toString().split('\r\n')) {
      const colon = line.indexOf(':');
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
    }
    const status = Number.parseInt(headers.status ?? '200', 10);
    delete headers.status;
    res.writeHead(status, headers);
    res.write(head.subarray(end + 4));
    child.stdout.pipe(res);
  };
  child.stdout.on('data', onData);
  child.stdout.on('end', () => {
    if (!res.headersSent) plain(res, 500, 'git did not answer');
  });
}

// Answers whether the path is git's.
function handle({ state, req, res, url, path: pathname, root, web }) {
  const found = PATH.exec(pathname);
  if (!found) return false;
  const [, owner, name, action] = found;
  const token = tokenOf(req);
  if (token === '') {
    plain(res, 401, 'Repository not found.', { 'www-authenticate': 'Basic realm="GitHub"' });
    return true;
  }
  const grant = state.grant(token);
  if (!grant) {
    plain(res, 401, 'Invalid username or token.', { 'www-authenticate': 'Basic realm="GitHub"' });
    return true;
  }
  // As GitHub has it, clone, fetch and push by an older name work as by the new one: the first
  // request is redirected, and whatever still comes by the older name is served.
  const { repo: named, moved } = state.repoByName(`${owner}/${name}`);
  const repo = named ?? moved;
  if (moved && req.method === 'GET' && grant.repoIds.includes(moved.id)) {
    const location = `${web}/${moved.full_name}.git/${action}${url.search}`;
    plain(res, 301, 'Moved Permanently', { location });
  } else if (!repo || !grant.repoIds.includes(repo.id)) {
    plain(res, 404, 'Repository not found.');
  } else if (repo.git_fault) {
    plain(res, repo.git_fault.status ?? 500, repo.git_fault.message ?? 'Internal Server Error');
  } else {
    const writes = action === 'git-receive-pack' || url.searchParams.get('service') === 'git-receive-pack';
    const level = grant.permissions.contents;
    if (!level || (writes && level === 'read'))
      plain(res, 403, writes ? 'Write access to repository not granted.' : 'Access denied.');
    else pipeBackend(req, res, url, root, repo.id, action, writes ? 'x-access-token' : '');
  }
  return true;
}

module.exports = { seed, handle };
