'use strict';
const assert = require('assert');
const crypto = require('crypto');
const fs = require('fs');
const os = require('os');
const path = require('path');
const { spawn, spawnSync } = require('child_process');
const { after, before, test } = require('node:test');

const { privateKey, publicKey } = crypto.generateKeyPairSync('rsa', { modulusLength: 2048 });
let folder;
let server;
let url;

before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'kndl-github-'));
  fs.copyFileSync(path.join(__dirname, '../demo.json'), path.join(folder, 'state.json'));
  fs.writeFileSync(path.join(folder, 'app.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  server = spawn(process.execPath, [path.join(__dirname, '../server.js'),
    '--state', path.join(folder, 'state.json'), '--git', path.join(folder, 'git'),
    '--public-key', path.join(folder, 'app.pub'), '--port', '0'],
  { stdio: ['ignore', 'pipe', 'inherit'], env: { PATH: '/usr/bin:/bin' } });
  const line = await new Promise((resolve) => server.stdout.once('data', resolve));
  url = `http://127.0.0.1:${/:(\d+)\s*$/.exec(String(line))[1]}`;
});

after(() => {
  server.kill();
  fs.rmSync(folder, { recursive: true, force: true });
});

function jwt(claims) {
  const now = Math.floor(Date.now() / 1000);
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const head = `${part({ alg: 'RS256', typ: 'JWT' })}.${part({
    iss: '1001', iat: now - 60, exp: now + 540, ...claims })}`;
  return `${head}.${crypto.sign('RSA-SHA256', Buffer.from(head), privateKey).toString('base64url')}`;
}

async function ask(method, where, bearer, body) {
  const answer = await fetch(`${url}${where}`, {
    method,
    redirect: 'manual',
    headers: { authorization: `Bearer ${bearer}`, 'user-agent': 'test' },
    body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: text ? JSON.parse(text) : null };
}

const mint = (body) => ask('POST', '/app/installations/2001/access_tokens', jwt(), body);
const control = (method, where, body) => ask(method, `/__fake/${where}`, '', body);

test('an App is who signed for it, and for ten minutes at most', async () => {
  const now = Math.floor(Date.now() / 1000);
  assert.strictEqual((await ask('GET', '/app', jwt())).body.slug, 'kndl-demo');
  assert.strictEqual((await ask('GET', '/api/v3/app', jwt())).status, 200);
  for (const claims of [{ iss: '1' }, { exp: now + 3600 }, { exp: now - 1 }, { iat: now + 3600 }])
    assert.strictEqual((await ask('GET', '/app', jwt(claims))).status, 401);
  assert.strictEqual((await ask('GET', '/app', `${jwt()}x`)).status, 401);
});

test('a token reaches the Repos it was asked for, and no others', async () => {
  const minted = await mint({ repository_ids: [3001], permissions: { contents: 'read' } });
  assert.strictEqual(minted.status, 201);
  assert.deepStrictEqual(minted.body.repositories.map((repo) => repo.id), [3001]);
  const { token } = minted.body;
  assert.strictEqual((await ask('GET', '/repos/Demo/Hello', token)).body.id, 3001);
  assert.strictEqual((await ask('GET', '/repositories/3002', token)).status, 404);
  assert.strictEqual((await ask('GET', '/installation/repositories', token)).body.total_count, 1);
  assert.strictEqual((await mint({ repository_ids: [9] })).status, 422);
  assert.strictEqual((await mint({ permissions: { issues: 'write' } })).status, 422);
  assert.strictEqual((await ask('DELETE', '/installation/token', token)).status, 204);
  assert.strictEqual((await ask('GET', '/repos/demo/hello', token)).status, 401);
});

test('collaborators come and go', async () => {
  const { token } = (await mint({})).body;
  const where = '/repos/demo/hello/collaborators/Grace';
  assert.strictEqual((await ask('GET', where, token)).status, 204);
  await control('PATCH', 'state', { repos: { 3001: { collaborators: { grace: null } } } });
  assert.strictEqual((await ask('GET', where, token)).status, 404);
});

test('a renamed Repo is 301, a suspended installation 403', async () => {
  const { token } = (await mint({})).body;
  await control('PATCH', 'state', { repos: { 3002: { full_name: 'demo/new', old_names: ['demo/notes'] } } });
  const moved = await ask('GET', '/repos/demo/notes', token);
  assert.strictEqual(moved.status, 301);
  assert.strictEqual(moved.headers.get('location'), `${url}/repositories/3002`);
  await control('PATCH', 'state', { installations: { 2001: { suspended_at: '2026-01-01T00:00:00Z' } } });
  assert.strictEqual((await mint({})).status, 403);
  assert.strictEqual((await ask('GET', '/repos/demo/hello', token)).status, 401);
  await control('PATCH', 'state', { installations: { 2001: { suspended_at: null } } });
});

test('faults answer as often as they were told to', async () => {
  await control('PUT', 'faults', [{ path: '^/app$', times: 1, status: 502, body: '<html>no</html>' }]);
  const answer = await fetch(`${url}/app`, { headers: { authorization: `Bearer ${jwt()}` } });
  assert.strictEqual(answer.status, 502);
  assert.strictEqual((await ask('GET', '/app', jwt())).status, 200);
});

test('git clones with a token, and pushes only with one that may write', async () => {
  const git = (token, ...args) => spawnSync('git', [
    '-c', 'credential.helper=', '-c', 'user.name=t', '-c', 'user.email=t@example.invalid',
    '-c', `http.extraHeader=Authorization: Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`,
    ...args], { env: { PATH: '/usr/bin:/bin', HOME: folder, GIT_TERMINAL_PROMPT: '0' }, encoding: 'utf8' });
  const reader = (await mint({ repository_ids: [3001], permissions: { contents: 'read' } })).body.token;
  const writer = (await mint({ repository_ids: [3001], permissions: { contents: 'write' } })).body.token;
  const work = path.join(folder, 'clone');
  assert.strictEqual(git(reader, 'clone', '-q', `${url}/demo/hello.git`, work).status, 0);
  assert.ok(fs.existsSync(path.join(work, 'CLAUDE.md')));
  assert.notStrictEqual(git('ghs_no', 'clone', '-q', `${url}/demo/hello.git`, `${work}2`).status, 0);
  assert.notStrictEqual(git(reader, 'clone', '-q', `${url}/demo/unclonable.git`, `${work}3`).status, 0);
  git(writer, '-C', work, 'commit', '-q', '--allow-empty', '-m', 'more');
  assert.notStrictEqual(git(reader, '-C', work, 'push', '-q').status, 0);
  assert.strictEqual(git(writer, '-C', work, 'push', '-q').status, 0);
});

test('a code is good once, with the verifier that it was asked for with', async () => {
  const verifier = 'v'.repeat(64);
  const asked = new URLSearchParams({
    client_id: 'Iv1.kndldemo',
    redirect_uri: 'http://127.0.0.1:1/back',
    state: 's1',
    code_challenge: crypto.createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const authorize = async (extra = '') => {
    const answer = await fetch(`${url}/login/oauth/authorize?${asked}${extra}`, { redirect: 'manual' });
    return answer.status === 302 ? new URL(answer.headers.get('location')) : answer.text();
  };
  const exchange = async (fields) => {
    const body = new URLSearchParams({
      client_id: 'Iv1.kndldemo',
      client_secret: 'demo-client-secret-that-opens-nothing',
      code_verifier: verifier,
      ...fields,
    });
    const answer = await fetch(`${url}/login/oauth/access_token`,
      { method: 'POST', body, headers: { accept: 'application/json' } });
    assert.strictEqual(answer.status, 200);
    return answer.json();
  };
  assert.match(await authorize(), /as=grace/);
  const back = await authorize('&as=grace');
  assert.strictEqual(back.searchParams.get('state'), 's1');
  const code = back.searchParams.get('code');
  const { access_token: token } = await exchange({ code });
  assert.strictEqual((await ask('GET', '/user', token)).body.id, 502);
  assert.strictEqual((await exchange({ code })).error, 'bad_verification_code');
  const other = (await authorize('&as=grace')).searchParams.get('code');
  assert.strictEqual((await exchange({ code: other, code_verifier: 'x' })).error, 'bad_verification_code');
  assert.strictEqual((await exchange({ code: 'x', client_secret: 'x' })).error, 'incorrect_client_credentials');
  await control('PATCH', 'state', { oauth: { deny: true } });
  assert.strictEqual((await authorize('&as=grace')).searchParams.get('error'), 'access_denied');
  await control('PATCH', 'state', { oauth: null });
  assert.strictEqual((await ask('GET', '/user', 'ghu_x')).status, 401);
});
