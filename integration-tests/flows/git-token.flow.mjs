// The Sandbox's git token: GI-01 (one Repo, never cached), GI-02 (asked at start and wake, a Session
// starts without), GI-03 (in the tmpfs alone, 0600 in 0700), GI-04 (git and gh just work), GI-05
// (current and previous are masked), GI-07 (the Workspace outlives sleep).

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { Kndl } from '../harness/kndl.mjs';
import { inside as insideOf, sandboxOf } from '../harness/sandbox.mjs';
import { until } from '../harness/until.mjs';

let kndl;
let id;

before(async () => {
  kndl = await Kndl.start('git-token');
  const [session] = await kndl.json('new', 'demo/hello');
  id = session.id;
  await isState('STATE_ACTIVE');
});

after(async () => {
  await kndl?.stop();
});

const show = async (session = id) => (await kndl.json('show', session))[0];

function isState(state, session = id) {
  return until(`the Session is ${state}`, async () => {
    const now = await show(session);
    return (now.session ?? now).state === state;
  }, 120 * 1000);
}

const inside = (session, ...argv) => insideOf(kndl, session, ...argv);

const token = (session = id) =>
  until('the token is there', () => inside(session, 'cat', '/run/kndl/github-token').catch(() => ''));

test('GI-03: the token is in the tmpfs, for root alone', async () => {
  assert.match(await token(), /^ghs_/);
  assert.equal((await inside(id, 'stat', '-c', '%a', '/run/kndl')).trim(), '700');
  assert.equal((await inside(id, 'stat', '-c', '%a', '/run/kndl/github-token')).trim(), '600');
  assert.equal((await inside(id, 'stat', '-f', '-c', '%T', '/run/kndl')).trim(), 'tmpfs');
});

test('GI-01: it is for the Session\'s Repo alone, and no other Session has it', async () => {
  const [other] = await kndl.json('new', 'demo/hello');
  await isState('STATE_ACTIVE', other.id);
  assert.notEqual(await token(other.id), await token());
  const origin = `http://${kndl.facts.peer_address}`;
  await assert.rejects(inside(id, 'git', 'ls-remote', `${origin}/demo/notes.git`), /not found/i);
  await kndl.ok('sleep', other.id);
});

test('GI-04: git push and git fetch work anywhere in the Sandbox', async () => {
  await inside(id, 'git', 'checkout', '-q', '-b', 'from-the-sandbox');
  await inside(id, 'git', 'commit', '-q', '--allow-empty', '-m', 'pushed from a Sandbox');
  await inside(id, 'git', 'push', '-q', 'origin', 'from-the-sandbox');
  assert.match(await inside(id, 'git', 'ls-remote', 'origin'), /refs\/heads\/from-the-sandbox/);
  const origin = (await inside(id, 'git', 'remote', 'get-url', 'origin')).trim();
  assert.ok(!origin.includes('@'));
  assert.ok(!(await inside(id, 'cat', '.git/config')).includes('ghs_'));
  await inside(id, 'git', 'clone', '-q', origin, '/tmp/elsewhere');
  await inside(id, 'git', '-C', '/tmp/elsewhere', 'fetch', '-q');
});

test('GI-04: gh finds its token by a link', async () => {
  assert.equal((await inside(id, 'readlink', '/root/.config/gh/hosts.yml')).trim(), '/run/kndl/gh-hosts.yml');
  const hosts = await inside(id, 'cat', '/root/.config/gh/hosts.yml');
  assert.ok(hosts.startsWith('github.com:\n'));
  assert.ok(hosts.includes(`oauth_token: ${await token()}\n`));
  assert.match(hosts, /git_protocol: https/);
});

test('GI-03: it is on no disk of the Runner\'s and in no log', async () => {
  const value = await token();
  for (const dir of [path.join(kndl.dir, 'runner'), path.join(kndl.dir, 'log')]) {
    const found = spawnSync('find', [dir, '-xdev', '-name', 'claude-code', '-prune', '-o', '-type', 'f',
      '-exec', 'grep', '-lFa', '--', value, '{}', '+'], { encoding: 'utf8', maxBuffer: 1 << 26 }).stdout;
    assert.equal(found, '');
  }
});

test('GI-05: it is masked where Claude says it', async () => {
  const value = await token();
  await kndl.ok('prompt', id, `say ${value} please`);
  const seen = await until('the prompt is in the Session', async () => {
    const { stdout } = await kndl.cli(['events', id, '--json']);
    const { stdout: queue } = await kndl.cli(['show', id, '--json']);
    return /say \*+ please/.test(stdout + queue) ? stdout + queue : '';
  });
  assert.ok(!seen.includes(value));
});

test('after sleep the token is gone; a wake brings another, and the Workspace stays', async () => {
  const before_ = await token();
  await until('it may sleep', async () => (await kndl.cli(['sleep', id])).code === 0);
  await isState('STATE_ASLEEP');
  const mounts = fs.readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  assert.deepEqual(mounts.filter((line) => line.includes(`/sandboxes/${sandboxOf(kndl, id)}/`)), []);
  await kndl.ok('wake', id);
  await isState('STATE_ACTIVE');
  const now = await token();
  assert.match(now, /^ghs_/);
  assert.notEqual(now, before_);
  assert.match(await inside(id, 'git', 'log', '-1', '--format=%s', 'from-the-sandbox'), /pushed from a Sandbox/);
  await kndl.ok('prompt', id, `both ${before_} and ${now} end`);
  await until('both are masked', async () => {
    const text = (await kndl.cli(['events', id, '--json'])).stdout + (await kndl.cli(['show', id, '--json'])).stdout;
    assert.ok(!text.includes(before_) && !text.includes(now));
    return /both \*+ and \*+ end/.test(text);
  });
});

test('GI-02: without one the Session starts all the same, and the log says so once', async () => {
  await until('it may sleep', async () => (await kndl.cli(['sleep', id])).code === 0);
  await isState('STATE_ASLEEP');
  await kndl.github.faults([{ path: '/app/installations/.*/access_tokens', status: 503, body: { message: 'no' } }]);
  await kndl.ok('wake', id);
  await isState('STATE_ACTIVE');
  const log = path.join(kndl.dir, 'log/runner-agent.log');
  await until('the Runner said so', () =>
    fs.readFileSync(log, 'utf8').includes('the Sandbox has no git token'));
  const said = fs.readFileSync(log, 'utf8').split('\n').filter((line) => line.includes('the Sandbox has no git token'));
  assert.equal(said.length, 1);
  await assert.rejects(inside(id, 'cat', '/run/kndl/github-token'));
  const note = await until('the Session says so, too', async () => (await kndl.json('events', id))
    .find((event) => event.note?.noteCode === 'git_token_missing'));
  assert.match(note.note.text, /have no new token for GitHub: GitHub cannot answer .*\. kndl asks again/);
  await kndl.github.faults([]);
});
