// Failures that people meet. Each shows the state, a reason code and a sentence that says what
// to do, and Retry works once the cause is gone. docs/failures.md has a row for each.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { Kndl } from '../harness/kndl.mjs';
import { inside } from '../harness/sandbox.mjs';
import { Sessions } from '../harness/sessions.mjs';
import { until } from '../harness/until.mjs';

const RIGHT = 'sk-ant-oat01-right-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
const WRONG = 'sk-ant-oat01-wrong-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

let kndl;
let sessions;

before(async () => {
  kndl = await Kndl.start('failures', { runnerDiskMib: 1024 });
  sessions = new Sessions(kndl);
});

after(async () => {
  await kndl?.stop();
});

test('CR-01: without a setup token a Session is refused, and nothing is made', async () => {
  await kndl.setSetupToken(null);
  const count = (await kndl.json('ls')).length;
  const refused = await kndl.cli(['new', 'demo/hello', '--prompt', 'say x']);
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /setup token/);
  assert.equal((await kndl.json('ls')).length, count);
  await kndl.setSetupToken(RIGHT);
});

test('CR-01: a wake without a setup token fails, and works once there is one', async () => {
  const session = await sessions.create();
  await sessions.reaches(session, 'STATE_ACTIVE');
  await kndl.ok('sleep', session);
  await sessions.reaches(session, 'STATE_ASLEEP');
  await kndl.setSetupToken(null);
  const refused = await kndl.cli(['wake', session]);
  if (refused.code === 0) await sessions.failsWith(session, 'no_setup_token');
  else assert.match(refused.stderr, /setup token/);
  await kndl.setSetupToken(RIGHT);
  await sessions.retryWorks(session);
});

test('a setup token that Anthropic refuses', async () => {
  await kndl.setSetupToken(WRONG);
  const session = await sessions.create('demo/hello', '--prompt', 'say x');
  await sessions.failsWith(session, 'setup_token_refused');
  await kndl.setSetupToken(RIGHT);
  await sessions.retryWorks(session);
});

test('a Repo that cannot be cloned', async () => {
  const session = await sessions.create('demo/unclonable');
  await sessions.failsWith(session, 'repo_clone_failed');
  await kndl.github.patch({ repos: { 3003: { git_fault: null } } });
  await sessions.retryWorks(session);
});

test('a full disk', async () => {
  const filler = path.join(kndl.dir, 'runner/filler');
  const fd = fs.openSync(filler, 'w');
  // To the last block: a small Repo fits into what the file system sets apart until it is synced.
  for (const size of [1024 * 1024, 4096, 4096]) {
    const block = Buffer.alloc(size);
    assert.throws(() => { for (;;) fs.writeSync(fd, block); }, { code: 'ENOSPC' });
    fs.fsyncSync(fd);
  }
  fs.closeSync(fd);
  const session = await sessions.create();
  try {
    await sessions.failsWith(session, 'disk_full');
  } finally {
    fs.rmSync(filler);
  }
  await sessions.retryWorks(session);
});

test('a Claude Code that exits at once', async () => {
  const binary = path.join(kndl.dir, 'runner/claude-code/2.1.332-glibc/claude');
  fs.renameSync(binary, `${binary}.kept`);
  fs.writeFileSync(binary, '#!/bin/sh\necho it broke; exit 3\n', { mode: 0o755 });
  const session = await sessions.create();
  try {
    await sessions.failsWith(session, 'claude_exited');
  } finally {
    fs.renameSync(`${binary}.kept`, binary);
  }
  await sessions.retryWorks(session);
});

test('a Runner that is away', async () => {
  const session = await sessions.create();
  await sessions.reaches(session, 'STATE_ACTIVE');
  await kndl.program('stop', 'runner-agent');
  await sessions.reaches(session, 'STATE_FROZEN', 'runner_away');
  assert.match((await sessions.show(session)).reason, /Runner/);
  await kndl.program('start', 'runner-agent');
  await sessions.reaches(session, 'STATE_ACTIVE');
  await kndl.ok('prompt', session, 'say it-works', '--wait');
});

test('output that nobody can mask waits, says so, and comes once it can be masked', async () => {
  const session = await sessions.create();
  const before = await sessions.reaches(session, 'STATE_ACTIVE');
  await kndl.ok('prompt', session, 'please hold');
  await until('the first half is held', async () => (await kndl.anthropic.held()) > 0);
  await kndl.program('stop', 'secrets');
  await kndl.program('stop', 'redactor');
  await kndl.anthropic.release();
  const waiting = await sessions.reaches(session, 'STATE_ACTIVE', 'output_waits');
  assert.match(waiting.reason, /Nothing is lost\.$/);

  // Meanwhile nothing is taken that would have to be masked first, which is said as people say it.
  const refused = await kndl.cli(['prompt', session, 'say too-soon']);
  assert.equal(refused.code, 5);
  assert.match(refused.stderr, /what you wrote was not taken.*cannot mask it now.*usually back within seconds: try again/);

  await kndl.program('start', 'secrets');
  await kndl.program('start', 'redactor');
  await until('the Turn ended', async () =>
    (await kndl.json('events', session)).some((event) => event.turnEnded));
  const texts = (await kndl.json('events', session)).filter((event) => event.text);
  const said = texts.map((event) => event.text.text).join('');
  assert.match(said, /The first half is here\..*And this is the second half\./s);
  assert.equal((await sessions.show(session)).reason, before.reason);
  await kndl.ok('prompt', session, 'say it-works', '--wait');
});

const textsOf = (events) => events.filter((event) => event.text).map((event) => event.text.text);

// Another copy of a service: its program with its environment, as it runs.
async function startCopy(name) {
  const { pid } = (await kndl.programs()).get(name);
  const env = Object.fromEntries(fs.readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
    .filter((entry) => entry.includes('=')).map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]));
  const child = spawn(fs.readlinkSync(`/proc/${pid}/exe`), [], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (text) => { said += text; });
  await until('the copy runs', () => said.includes('the service runs'));
  return child;
}

test('a redactor that hangs is left for another copy, and nothing is lost or comes twice', async () => {
  const session = await sessions.create();
  await sessions.reaches(session, 'STATE_ACTIVE');
  await kndl.ok('prompt', session, 'please hold');
  await until('the first half is held', async () => (await kndl.anthropic.held()) > 0);
  const first = (await kndl.programs()).get('redactor').pid;
  const second = await startCopy('redactor');
  try {
    process.kill(first, 'SIGSTOP');
    await kndl.anthropic.release();
    await until('the Turn ended', async () =>
      (await kndl.json('events', session)).some((event) => event.turnEnded));

    // Both: then it waits and says so.
    process.kill(second.pid, 'SIGSTOP');
    process.kill(first, 'SIGCONT');
    await until('a prompt is taken', async () => (await kndl.cli(['prompt', session, 'say one-more'])).code === 0);
    process.kill(first, 'SIGSTOP');
    await sessions.reaches(session, 'STATE_ACTIVE', 'output_waits');
  } finally {
    process.kill(first, 'SIGCONT');
    second.kill('SIGKILL');
  }
  await until('both Turns ended', async () =>
    (await kndl.json('events', session)).filter((event) => event.turnEnded).length === 2);
  const events = await kndl.json('events', session);
  const texts = textsOf(events);
  assert.match(texts.join(''), /The first half is here\..*And this is the second half\./s);
  assert.equal(texts.filter((text) => text.includes('one-more')).length, 1);
  assert.deepEqual(events.map((event) => Number(event.seq)), events.map((_, n) => n + 1));
});

test('a Runner without room for Events keeps them in the Sandbox, says so, and shows them later', async () => {
  const session = await sessions.create();
  const { run } = await sessions.reaches(session, 'STATE_ACTIVE');
  await until('it may sleep', async () => (await kndl.cli(['sleep', session])).code === 0);
  await sessions.reaches(session, 'STATE_ASLEEP');
  // The next run's Events have a disk of their own, and a small one.
  const spool = path.join(kndl.facts.run_dir, 'runner/sessions', session, `spool-${Number(run) + 1}`);
  fs.mkdirSync(spool, { mode: 0o700 });
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k,mode=700', 'tmpfs', spool]);
  try {
    await kndl.ok('wake', session);
    await sessions.reaches(session, 'STATE_ACTIVE');
    const long = `long-${'x'.repeat(20 * 1000)}`;
    await kndl.ok('prompt', session, `say ${long}`);
    const full = await sessions.reaches(session, 'STATE_ACTIVE', 'spool_full');
    assert.match(full.reason, /waits in the Sandbox.*Nothing is lost\.$/);
    execFileSync('mount', ['-o', 'remount,size=16m', spool]);
    await until('the Turn ended', async () =>
      (await kndl.json('events', session)).some((event) => event.turnEnded), 120 * 1000);
    const events = await kndl.json('events', session);
    assert.equal(textsOf(events).filter((text) => text.includes(long)).length, 1);
    assert.ok(events.some((event) => event.note?.noteCode === 'spool_was_full'));
    assert.notEqual((await sessions.show(session)).reasonCode, 'spool_full');

    // Its Claude Code is killed while there is no room: its end waits, for what the transcript has.
    const { bsize, blocks, bfree } = fs.statfsSync(spool);
    execFileSync('mount', ['-o', `remount,size=${(blocks - bfree) * bsize + 8 * 1024}`, spool]);
    const asked = `say another-${long}`;
    await kndl.ok('prompt', session, asked);
    await sessions.reaches(session, 'STATE_ACTIVE', 'spool_full');
    await inside(kndl, session, 'kill', '-9', (await inside(kndl, session, 'cat', '/run/kndl/claude.pid')).trim());
    await until('its end waits', () => fs.readFileSync(path.join(kndl.dir, 'log/runner-agent.log'), 'utf8')
      .includes('the end of a run waits for room on the disk'));
    assert.equal((await sessions.show(session)).reasonCode, 'spool_full');
    execFileSync('mount', ['-o', 'remount,size=16m', spool]);
    await sessions.reaches(session, 'STATE_ASLEEP', 'claude_exited');
    assert.equal((await kndl.json('events', session)).filter((event) => event.prompt?.text === asked).length, 1);
  } finally {
    if ((await sessions.show(session)).state !== 'STATE_ASLEEP') await kndl.ok('sleep', session);
    await sessions.reaches(session, 'STATE_ASLEEP');
    execFileSync('umount', ['-l', spool]);
  }
});
