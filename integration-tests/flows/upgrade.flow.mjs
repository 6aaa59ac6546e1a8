// AC-10, CL-05: an older Runner is turned away, updates itself to its Hub's release, and comes back
// with the same Claude Code; and whatever goes wrong on the way leaves it as it was, saying so.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { Kndl } from '../harness/kndl.mjs';
import { until } from '../harness/until.mjs';

const SESSIONS = 'kndl.sessions.v1.SessionsService';
const TICKS = 'for i in $(seq 20); do echo tick $i; read -t 1 < <(:) || /bin/sleep 1; done';

let kndl;
let session; // its id
let claude; // the process id of its Claude Code, in the Sandbox
let proxy; // between a Runner and the Hub; what it changes is `spoil`
let spoil = null;
const started = new Set();

const requestId = () => crypto.randomUUID();

async function call(method, message) {
  const { status, body } = await kndl.call(`${SESSIONS}/${method}`, message);
  assert.equal(status, 200, `${method}: ${JSON.stringify(body)}`);
  return body;
}

const show = async () => (await call('GetSession', { sessionId: session })).session;
const events = async () => (await call('ListEvents', { sessionId: session })).events ?? [];
const reaches = (state) => until(`the Session is ${state}`, async () => (await show()).state === state);
const lastSeq = async () => Number((await events()).at(-1).seq);
const turnEnds = (seq) => until('the Turn ended', async () =>
  (await events()).find((event) => event.turnEnded && Number(event.seq) > seq));
const runner = async () => (await kndl.json('runners'))[0];

const home = () => path.join(kndl.dir, 'runner');
const releases = (...more) => path.join(home(), 'releases', ...more);

function inside(...argv) {
  const name = fs.readdirSync(path.join(home(), 'sandboxes')).find((entry) => entry.endsWith(session));
  return execFileSync('runc', ['--root', path.join(home(), 'oci'), 'exec', name, ...argv],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}

const claudePid = () => inside('cat', '/run/kndl/claude.pid');

// Asks the Hub what the Runner asks, and lets `spoil(path, bytes)` change what it answers.
async function startProxy() {
  const hub = new URL(kndl.facts.hub_url);
  proxy = http.createServer((request, response) => {
    const onward = http.request({
      host: hub.hostname, port: hub.port, method: request.method, path: request.url,
      headers: { ...request.headers, host: hub.host },
    }, (answer) => {
      const chunks = [];
      answer.on('data', (chunk) => chunks.push(chunk));
      answer.on('end', () => {
        const bytes = Buffer.concat(chunks);
        const body = (answer.statusCode === 200 && spoil?.(request.url, bytes)) || bytes;
        response.writeHead(answer.statusCode, { 'content-type': answer.headers['content-type'] ?? '' });
        response.end(body);
      });
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${proxy.address().port}`;
}

// The environment that ./dev gives the Runner of this machine.
function runnerEnv() {
  const plan = fs.readFileSync(path.join(kndl.dir, 'plan'), 'utf8');
  const part = plan.split('\nprogram ').find((program) => program.startsWith('runner-agent\n'));
  return Object.fromEntries([...part.matchAll(/^ {2}env ([^=]+)=(.*)$/gm)].map(([, name, value]) => [name, value]));
}

// The Runner of before, in place of this machine's: {child, log()}.
function startOlder(env = {}) {
  const child = spawn(path.join(kndl.facts.build, 'bin/runner-agent-older'), [], {
    env: { ...runnerEnv(), RUNNER_SELF_UPDATE: 'on', ...env }, stdio: ['ignore', 'ignore', 'pipe'], cwd: '/',
  });
  let log = '';
  child.stderr.on('data', (chunk) => {
    log += chunk;
  });
  const older = { child, log: () => log, ended: new Promise((resolve) => child.on('exit', resolve)) };
  started.add(older);
  older.ended.then(() => started.delete(older));
  return older;
}

async function stopOlder(older) {
  older.child.kill('SIGTERM');
  await older.ended;
}

const programOf = (older) => fs.readlinkSync(`/proc/${older.child.pid}/exe`);

async function shows(pattern) {
  return until(`the Runners page says ${pattern}`, async () => {
    const now = await runner();
    return pattern.test(now.updateNote ?? '') && now;
  });
}

before(async () => {
  kndl = await Kndl.start('upgrade');
  ({ session: { id: session } } = await call('CreateSession',
    { requestId: requestId(), repoName: 'demo/hello', prompt: '' }));
  await reaches('STATE_ACTIVE');
  claude = claudePid();
  await kndl.program('stop', 'runner-agent');
});

after(async () => {
  for (const older of started) await stopOlder(older);
  proxy?.close();
  await kndl?.stop();
});

test('CL-05: a file that is not what the Hub told is refused, and the older Runner stays and says so', async () => {
  spoil = (url, bytes) => url === '/runner/release/run-claude'
    && Buffer.concat([bytes.subarray(0, -1), Buffer.from([bytes.at(-1) ^ 1])]);
  const older = startOlder({ RUNNER_HUB_URL: await startProxy() });
  const now = await shows(/^could not update to .*: run-claude does not have the digest/);
  assert.equal(now.state, 'STATE_REFUSED');
  assert.equal(now.version, '0.0.9');
  assert.equal(now.isOutdated, true);
  assert.match(now.problem, /protocol 0 and the Hub 1/);
  assert.match(await kndl.ok('runners'), /turned away .*0\.0\.9 \(out of date\).*could not update/s);
  assert.match(programOf(older), /runner-agent-older$/);
  assert.deepEqual(fs.readdirSync(releases()), []);
  await stopOlder(older);
});

// It answers --check as it should, and ends when it is to serve.
test('CL-05: a release that dies at once is left after three starts, and not tried again', async () => {
  const script = Buffer.from('#!/bin/sh\n[ "$1" != --check ] || echo "runner-agent runs, version 9.9.9"\nexit 1\n');
  const digest = crypto.createHash('sha256').update(script).digest('hex');
  spoil = (url, bytes) => {
    if (url === '/runner/release/runner-agent') return script;
    if (url !== '/runner/release') return null;
    const manifest = JSON.parse(bytes);
    manifest.version = '9.9.9';
    manifest.files.find((file) => file.name === 'runner-agent').sha256 = digest;
    manifest.files.find((file) => file.name === 'runner-agent').size = script.length;
    return Buffer.from(JSON.stringify(manifest));
  };
  const url = `http://127.0.0.1:${proxy.address().port}`;
  for (let start = 0; start < 3; start++) await startOlder({ RUNNER_HUB_URL: url }).ended;
  const older = startOlder({ RUNNER_HUB_URL: url });
  await shows(/^could not update to 9\.9\.9, and does not try it again: it ended each time/);
  assert.match(programOf(older), /runner-agent-older$/);
  assert.match(fs.readFileSync(releases('failed'), 'utf8'), /^9\.9\.9 /);
  assert.ok(!fs.existsSync(releases('current')));
  await stopOlder(older);
});

test('CL-05: a Runner that is not to update itself waits, and says so', async () => {
  const older = startOlder({ RUNNER_SELF_UPDATE: 'off' });
  const now = await shows(/RUNNER_SELF_UPDATE=off/);
  assert.equal(now.state, 'STATE_REFUSED');
  assert.match(programOf(older), /runner-agent-older$/);
  await stopOlder(older);
});

test('AC-10, CL-05: an older Runner is turned away, updates itself, and has the same Claude Code', async () => {
  await reaches('STATE_FROZEN');
  const older = startOlder();
  await reaches('STATE_ACTIVE');
  assert.match(older.log(), /the Hub turns this Runner away.*protocol 0 and the Hub 1/);
  const now = await runner();
  assert.equal(now.state, 'STATE_CONNECTED');
  assert.notEqual(now.version, '0.0.9');
  assert.ok(!now.isOutdated);
  assert.equal(now.updateNote ?? '', '');

  // The same process, another program; its own mod and launcher lie beside it.
  assert.equal(older.child.exitCode, null);
  assert.ok(programOf(older).endsWith(`/releases/${now.version}/runner-agent`), programOf(older));
  assert.equal(fs.readlinkSync(releases('current')), now.version);
  assert.ok(fs.existsSync(releases(now.version, 'mod/hub-link/.claude-plugin/plugin.json')));
  await until('it is on trial no more, and the other release is gone', () =>
    !fs.existsSync(releases('trying')) && !fs.existsSync(releases('9.9.9')));

  assert.equal(claudePid(), claude);
  const seq = await lastSeq();
  await call('SendPrompt', { requestId: requestId(), sessionId: session, text: 'say still here' });
  await turnEnds(seq);
  assert.ok((await events()).some((event) => Number(event.seq) > seq && event.text?.text.includes('still here')));
  await stopOlder(older);
});

test('LI-07, CL-05: a Turn that runs goes on while its Runner becomes another release', async () => {
  await kndl.program('start', 'runner-agent');
  await reaches('STATE_ACTIVE');
  const seq = await lastSeq();
  await call('SendPrompt', { requestId: requestId(), sessionId: session, text: `run: ${TICKS}` });
  await until('Bash runs', async () =>
    (await events()).some((event) => event.toolCall && Number(event.seq) > seq));
  await kndl.program('stop', 'runner-agent');
  fs.rmSync(releases(), { recursive: true });

  const older = startOlder();
  await until('it is another release', () => /\/releases\/[0-9.]+\/runner-agent$/.test(programOf(older)));
  assert.notEqual(inside('sh', '-c', "grep -l 'echo [t]ick' /proc/[0-9]*/cmdline"), '');
  const ended = await turnEnds(seq);
  assert.equal(ended.turnEnded.reason, 'REASON_ANSWER');
  const result = (await events()).find((event) => event.toolResult && Number(event.seq) > seq);
  assert.match(JSON.stringify(result.toolResult), /tick 20/);
  assert.equal(claudePid(), claude);
  await stopOlder(older);
});

// As a package or a host's image would start it: by the program that was installed.
test('CL-05: the next start gives way to the release that the host was updated to', async () => {
  const older = startOlder();
  await until('it gave way', () => /\/releases\//.test(programOf(older)));
  await reaches('STATE_ACTIVE');
  assert.doesNotMatch(older.log(), /turns this Runner away/);
  assert.equal(claudePid(), claude);
  await stopOlder(older);
});
