// Who comes in and who goes, with everything real: no dev login, the stand-in as GitHub. AC-01,
// AC-02, AC-04, AC-07, AC-09, CR-04, CL-01; the attacks 33, 34 and 36.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { Kndl } from '../harness/kndl.mjs';
import { Viewer } from '../harness/socket.mjs';
import { isOfPeople, readTable } from '../harness/table.mjs';
import { until } from '../harness/until.mjs';
import { comparable, Visitor } from '../harness/visitor.mjs';

const TTL_MS = 1500;
const SETUP_TOKEN = 'sk-ant-oat01-people-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
const SESSIONS = 'kndl.sessions.v1.SessionsService';

let kndl;
let ada;
let grace;
let refusal; // as everybody gets it
let adasSession;

before(async () => {
  kndl = await Kndl.start('people', {
    env: { KNDL_DEV_LOGIN: 'off', KNDL_DEV_REPO_ACCESS_TTL_MS: String(TTL_MS) },
  });
});

after(async () => {
  await kndl?.stop();
});

const setupSecret = () => /#setup=(\S+)/.exec(
  fs.readFileSync(path.join(kndl.facts.run_dir, 'setup/link'), 'utf8'))[1];

async function invite(login) {
  const { status, body } = await ada.people('InviteMember', { requestId: `invite-${login}`, login });
  assert.equal(status, 200, JSON.stringify(body));
  return /#invite=(\S+)$/.exec(body.link)[1];
}

async function isRefused(answer) {
  if (!refusal) {
    assert.equal(answer.status, 303);
    assert.equal(answer.headers.location, '/#refused');
    refusal = comparable(answer);
  }
  assert.equal(comparable(answer), refusal);
}

async function start(visitor, repo, prompt) {
  const { status, body } = await visitor.call(`${SESSIONS}/CreateSession`,
    { requestId: crypto.randomUUID(), repoName: repo, prompt });
  assert.equal(status, 200, JSON.stringify(body));
  return body.session.id;
}

test('AC-01, AC-02: the Setup link makes the Owner; strangers are refused alike', async () => {
  const secret = setupSecret();
  await isRefused(await new Visitor(kndl).signIn('stranger'));
  await isRefused(await new Visitor(kndl).signIn('grace', { secret: `kndl_set_${'0'.repeat(43)}_000000` }));
  ada = new Visitor(kndl);
  const back = await ada.signIn('ada', { secret, returnTo: '/members' });
  assert.equal(back.status, 303);
  assert.equal(back.headers.location, '/members');
  assert.equal((await ada.people('WhoAmI')).body.person.isOwner, true);
  await kndl.registerRunner(ada.cookie);
  await isRefused(await new Visitor(kndl).signIn('stranger', { secret }));
  assert.equal(fs.existsSync(path.join(kndl.facts.run_dir, 'setup/link')), false);
  const logs = fs.readdirSync(path.join(kndl.dir, 'log'))
    .map((file) => fs.readFileSync(path.join(kndl.dir, 'log', file), 'utf8')).join('\n');
  for (const text of [secret, 'stranger', ada.token])
    assert.equal(logs.split('\n').some((line) => line.includes(text) && !line.includes('"url":"/login')
      && !line.includes('/users/')), false, `${text.slice(0, 12)}… is in a log`);
});

test('AC-01: an Invite is for its login, once', async () => {
  const secret = await invite('grace');
  await isRefused(await new Visitor(kndl).signIn('stranger', { secret }));
  grace = new Visitor(kndl);
  assert.equal((await grace.signIn('grace', { secret })).headers.location, '/');
  const me = (await grace.people('WhoAmI')).body.person;
  assert.equal(me.login, 'grace');
  assert.equal(me.isOwner, undefined);
  const { body } = await ada.people('ListMembers');
  assert.deepEqual(body.members.map(({ person }) => person.login), ['ada', 'grace']);
  assert.equal((await grace.people('ListInvites')).status, 403);
});

test('faults 34: a way back is for its own browser, once; the old cookie dies', async () => {
  const other = new Visitor(kndl);
  const back = await other.goesToGitHub('ada');
  await isRefused(await new Visitor(kndl).ask(back)); // another browser
  const planted = grace.token;
  other.token = planted;
  const { atGitHub, signedIn } = other.names;
  const twice = other.jar.get(atGitHub);
  assert.equal((await other.ask(back)).headers.location, '/');
  assert.notEqual(other.token, planted);
  assert.equal((await grace.people('WhoAmI')).status, 401);
  other.jar.set(atGitHub, twice);
  await isRefused(await other.ask(back)); // again

  const two = new Visitor(kndl);
  const way = await two.goesToGitHub('ada');
  const { cookie } = two;
  await isRefused(await new Visitor(kndl).ask(way, { headers: { cookie: `${cookie}; ${cookie}` } }));
  for (const returnTo of ['//evil.example', 'https://evil.example', '/\\evil.example', '/\t/evil.example', 'evil', 'javascript:x'])
    assert.equal((await two.post('/auth/github', { returnTo })).status, 400, returnTo);

  // A code that was used, with a state that is good.
  const replayed = new URL(await other.goesToGitHub('ada'));
  replayed.searchParams.set('code', new URL(back).searchParams.get('code'));
  await isRefused(await other.ask(replayed.href));
  const twins = `${signedIn}=${other.token}; ${signedIn}=${planted}`;
  const asTwins = await new Visitor(kndl).post('/kndl.repo_access.v1.RepoAccessService/WhoAmI', {}, { cookie: twins });
  assert.equal(asTwins.status, 401);
  assert.equal((await grace.signIn('grace')).headers.location, '/'); // a Member needs nothing
});

test('AC-04, faults 33: nothing that changes something listens to a foreign page', async () => {
  const routes = ['/auth/github', '/auth/signout',
    ...readTable().filter(isOfPeople).map(({ section, name }) => `/${section}/${name}`)];
  const port = new URL(kndl.facts.hub_url).port;
  const foreign = [undefined, 'null', 'https://evil.example', 'https://hub.evil', `https://127.0.0.1:${port}`,
    'http://127.0.0.1:1', `http://sub.127.0.0.1:${port}`];
  for (const route of routes) {
    for (const origin of foreign) {
      const headers = { 'content-type': 'application/json', ...(origin ? { origin } : {}) };
      const answer = await ada.ask(route, { method: 'POST', body: '{}', headers });
      assert.equal(answer.status, 403, `${route} from ${origin}`);
    }
    for (const site of ['cross-site', 'same-site', 'none']) {
      const answer = await ada.post(route, '{}', { 'sec-fetch-site': site });
      assert.equal(answer.status, 403, `${route} ${site}`);
    }
    // A form needs no preflight: it is refused for its Origin, before its type is looked at.
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const form = await ada.post(route, '{}', { 'content-type': type, origin: 'https://evil.example' });
      assert.equal(form.status, 403, `${route} ${type}`);
    }
  }
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13',
    'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' };
  for (const origin of foreign) {
    const answer = await ada.ask('/socket', { headers: { ...upgrade, ...(origin ? { origin } : {}) } });
    assert.equal(answer.status, 403, `a socket from ${origin}`);
  }
});

test('CL-01: kndl login by a code; the token is no cookie, and ends', async () => {
  const child = kndl.spawnCli(['login']);
  let said = '';
  child.stdout.on('data', (chunk) => { said += chunk; });
  const ended = new Promise((resolve) => child.on('close', resolve));
  const code = await until('the code is shown', () => /\/device#([A-Z]{4}-[A-Z]{4})/.exec(said)?.[1]);
  const { body } = await ada.people('FindDevice', { userCode: code });
  assert.ok(body.machine.length > 0);
  assert.equal((await ada.people('DecideDevice', { requestId: 'd1', userCode: code, isApproved: true })).status, 200);
  assert.equal(await ended, 0);
  assert.match(said, /Signed in as ada at /);
  assert.equal(fs.statSync(path.join(kndl.dir, 'cli.json')).mode & 0o777, 0o600);
  assert.match(await kndl.ok('whoami'), /ada.*the Owner/);

  // AC-03: anybody may have the command.
  const command = await new Visitor(kndl).ask('/download/kndl');
  assert.equal(command.status, 200);
  assert.equal(command.headers['content-type'], 'application/octet-stream');
  assert.equal(command.text.slice(1, 4), 'ELF');

  // faults 36: of the wrong kind it is unknown, and what it may not do it may not.
  const token = kndl.token();
  const asCookie = new Visitor(kndl);
  asCookie.token = token;
  assert.equal((await asCookie.people('WhoAmI')).status, 401);
  for (const method of ['ListMembers', 'InviteMember']) {
    const refused = await kndl.call(`kndl.repo_access.v1.RepoAccessService/${method}`, { login: 'linus' }, { token });
    assert.equal(refused.status, 403);
    assert.equal(refused.body.message, 'do this in the browser');
  }
  const listed = await ada.people('ListSignIns');
  const machine = listed.body.signIns.find(({ kind }) => kind === 'KIND_CLI');
  assert.equal((await ada.people('EndSignIn', { requestId: 'e1', signInId: machine.id })).status, 200);
  assert.equal((await kndl.call('kndl.repo_access.v1.RepoAccessService/WhoAmI', {}, { token })).status, 401);
});

test('AC-07: access that is taken away ends an open view while it streams', async () => {
  await ada.call('kndl.secrets.v1.SecretsService/SetSetupToken', { requestId: 't1', token: SETUP_TOKEN });
  adasSession = await start(ada, 'demo/hello', 'hold');
  const hidden = await start(ada, 'demo/notes', 'say hidden');
  const viewer = new Viewer(kndl, grace.cookie, adasSession);
  await until('text is held', async () => (await kndl.anthropic.held()) > 0);
  await until('grace sees it stream', () => viewer.view && viewer.blocks.size > 0);
  const mine = await grace.call(`${SESSIONS}/ListSessions`);
  assert.deepEqual(mine.body.sessions.map(({ id }) => id), [adasSession]);
  assert.equal((await grace.call(`${SESSIONS}/GetSession`, { sessionId: hidden })).status, 404);

  // While GitHub cannot answer nobody loses anything.
  await kndl.github.faults([{ path: '/collaborators/', status: 502, body: '<html>Unicorn!</html>' }]);
  const asked = (await kndl.github.log()).at(-1)?.n ?? 0;
  await until('GitHub was asked in vain', async () => (await kndl.github.log(asked))
    .filter(({ url, status }) => url.includes('/hello/collaborators/grace') && status === 502).length > 1);
  assert.equal(viewer.closed, undefined);
  assert.equal((await grace.call(`${SESSIONS}/GetSession`, { sessionId: adasSession })).status, 200);

  await kndl.github.faults([]);
  await kndl.github.patch({ repos: { 3001: { collaborators: { grace: null } } } });
  await until('grace is out', () => viewer.closed, 20 * 1000);
  assert.equal(viewer.closed.code, 'not_found');
  assert.equal((await grace.call(`${SESSIONS}/GetSession`, { sessionId: adasSession })).status, 404);
  assert.equal((await grace.call(`${SESSIONS}/ListSessions`)).body.sessions, undefined);
  assert.equal((await ada.call(`${SESSIONS}/GetSession`, { sessionId: adasSession })).status, 200);
  viewer.close();
  await kndl.anthropic.release();
  await kndl.github.patch({ repos: { 3001: { collaborators: { grace: 'write' } } } });
});

test('AC-09, CR-04, faults 36: a removed Member is out at once, and their Sessions sleep', async () => {
  await until('grace is back', async () =>
    (await grace.call(`${SESSIONS}/GetSession`, { sessionId: adasSession })).status === 200);
  await grace.call('kndl.secrets.v1.SecretsService/SetSetupToken', { requestId: 't2', token: SETUP_TOKEN });
  const theirs = await start(grace, 'demo/hello', 'say hello');
  const look = async () => (await ada.call(`${SESSIONS}/GetSession`, { sessionId: theirs })).body.session;
  await until('it is Active', async () => (await look()).state === 'STATE_ACTIVE');
  const viewer = new Viewer(kndl, grace.cookie, theirs);
  await until('the view is there', () => viewer.view);
  const { id } = (await grace.people('WhoAmI')).body.person;

  assert.equal((await grace.people('RemoveMember', { requestId: 'r0', personId: id })).status, 403);
  assert.equal((await ada.people('RemoveMember', { requestId: 'r1', personId: id })).status, 200);
  const removedAt = Date.now();
  await until('the socket is closed', () => viewer.closes.includes(4401));
  const tookMs = Date.now() - removedAt;
  viewer.close();
  console.log(`the socket was closed after ${tookMs} ms`);
  assert.equal((await grace.people('WhoAmI')).status, 401);
  await until('it sleeps', async () => (await look()).state === 'STATE_ASLEEP');
  assert.equal((await look()).reasonCode, 'member_removed');
  await isRefused(await new Visitor(kndl).signIn('grace'));
});
