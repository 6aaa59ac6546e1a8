// What a Runner and its Claude Code survive: a prompt after an Escape, a Claude Code that is killed,
// a host that restarts, a conversation that was never written down, hostile files.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { Kndl } from '../harness/kndl.mjs';
import { until } from '../harness/until.mjs';

const SESSIONS = 'kndl.sessions.v1.SessionsService';
const TICKS = 'for i in $(seq 60); do echo tick $i; read -t 1 < <(:) || /bin/sleep 1; done';

let kndl;

before(async () => {
  kndl = await Kndl.start('survival');
});

after(async () => {
  await kndl?.stop();
});

async function call(method, message) {
  const { status, body } = await kndl.call(`${SESSIONS}/${method}`, message);
  assert.equal(status, 200, `${method}: ${JSON.stringify(body)}`);
  return body;
}

const requestId = () => crypto.randomUUID();
const show = async (sessionId) => (await call('GetSession', { sessionId })).session;
const events = async (sessionId) => (await call('ListEvents', { sessionId })).events ?? [];
const prompt = (sessionId, text) => call('SendPrompt', { requestId: requestId(), sessionId, text });

async function reaches(sessionId, state) {
  return until(`${sessionId} is ${state}`, async () => {
    const now = await show(sessionId);
    return now.state === state && now;
  });
}

async function create(text = '') {
  const message = { requestId: requestId(), repoName: 'demo/hello', prompt: text };
  const { session } = await call('CreateSession', message);

  await reaches(session.id, 'STATE_ACTIVE');
  return session.id;
}

// The Event of the main thread's next ended Turn behind `seq`.
function turnEnds(sessionId, seq = 0) {
  return until('the Turn ended', async () =>
    (await events(sessionId)).find((event) => event.turnEnded && Number(event.seq) > seq));
}

async function lastSeq(sessionId) {
  return Number((await events(sessionId)).at(-1).seq);
}

async function says(sessionId, text) {
  const seq = await lastSeq(sessionId);

  await prompt(sessionId, `say ${text}`);
  await turnEnds(sessionId, seq);
  const said = (await events(sessionId)).filter((event) => event.text && Number(event.seq) > seq);
  assert.ok(said.some((event) => event.text.text.includes(text)), `Claude did not say ${text}`);
}

const home = () => path.join(kndl.dir, 'runner');
const sessionDir = (sessionId) => path.join(home(), 'sessions', sessionId);

// The Sandbox's name: the Runner's prefix and the Session's id.
function sandboxOf(sessionId) {
  return fs.readdirSync(path.join(home(), 'sandboxes')).find((name) => name.endsWith(sessionId));
}

// A command inside, as root there.
function inside(sessionId, ...argv) {
  const args = ['--root', path.join(home(), 'oci'), 'exec', sandboxOf(sessionId), ...argv];

  return execFileSync('runc', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

const tmux = (sessionId, ...argv) => inside(sessionId, 'tmux', '-S', '/run/kndl/tmux', ...argv);

function killClaude(sessionId) {
  const pid = inside(sessionId, 'cat', '/run/kndl/claude.pid').trim();

  inside(sessionId, 'kill', '-9', pid);
}

async function runsBash(sessionId) {
  const seq = await lastSeq(sessionId);

  await prompt(sessionId, `run: ${TICKS}`);
  await until('Bash runs', async () =>
    (await events(sessionId)).some((event) => event.toolCall && Number(event.seq) > seq));
  return seq;
}

test('EV-02: after an Escape in the terminal a prompt is typed into the box, exact', async () => {
  const id = await create();
  const seq = await runsBash(id);
  tmux(id, 'send-keys', '-t', 's:claude', 'Escape');
  const ended = await turnEnds(id, seq);
  assert.equal(ended.turnEnded.reason, 'REASON_STOPPED');

  const text = 'say exact: "quotes" \'x\' $HOME é漢\n\tsecond line';
  await prompt(id, text);
  await turnEnds(id, Number(ended.seq));
  const prompts = (await events(id)).filter((event) => event.prompt?.text === text);
  assert.equal(prompts.length, 1);
  assert.notEqual(prompts[0].prompt.promptId, '');
  assert.equal(prompts[0].prompt.origin, 'ORIGIN_PERSON');
});

test('LI-04: a Claude Code that is killed leaves its Session Asleep; a prompt wakes it', async () => {
  const id = await create('say before');
  await turnEnds(id);
  const seq = await runsBash(id);
  killClaude(id);
  const asleep = await reaches(id, 'STATE_ASLEEP');
  assert.equal(asleep.reasonCode, 'claude_exited');
  const ended = (await events(id)).find((event) => event.turnEnded && Number(event.seq) > seq);
  assert.equal(ended.turnEnded.reason, 'REASON_INTERRUPTED');
  await says(id, 'awake-again');
  assert.equal((await show(id)).run, '2');
});

test('LI-06: when its host restarted, the run is lost, and a prompt starts the next', async () => {
  const id = await create('say before');
  await turnEnds(id);
  await kndl.program('stop', 'runner-agent');
  execFileSync('runc', ['--root', path.join(home(), 'oci'), 'kill', sandboxOf(id), 'KILL']);
  await kndl.program('start', 'runner-agent');
  const asleep = await reaches(id, 'STATE_ASLEEP');
  assert.equal(asleep.reasonCode, 'runner_restarted');
  await says(id, 'after-the-restart');
});

test('LI-05: without a transcript a wake starts afresh, and a note says so', async () => {
  const id = await create('say before');
  await turnEnds(id);
  await call('SleepSession', { requestId: requestId(), sessionId: id });
  await reaches(id, 'STATE_ASLEEP');
  fs.rmSync(path.join(sessionDir(id), 'config/projects'), { recursive: true });
  await says(id, 'a-new-beginning');
  assert.ok((await events(id)).some((event) => event.note?.noteCode === 'conversation_lost'));
});

test('LI-07: a question outlives a Runner that is away for longer than a hook may last', async () => {
  const id = await create('ask one');
  const asked = await until('the question', async () =>
    (await events(id)).find((event) => event.question));
  await kndl.program('stop', 'runner-agent');
  await reaches(id, 'STATE_FROZEN');
  await kndl.program('start', 'runner-agent');
  await reaches(id, 'STATE_ACTIVE');
  await call('AnswerQuestion', {
    requestId: requestId(),
    sessionId: id,
    questionId: asked.question.id,
    answers: [asked.question.questions[0].options[1].label],
  });
  await turnEnds(id);
  const answer = (await events(id)).find((event) => event.answer);
  assert.equal(answer.answer.outcome, 'OUTCOME_ANSWERED');
});

test('hostile files in the config directory lead nowhere, and the Session starts', async () => {
  const id = await create('say before');
  await turnEnds(id);
  await call('SleepSession', { requestId: requestId(), sessionId: id });
  await reaches(id, 'STATE_ASLEEP');

  const config = path.join(sessionDir(id), 'config');
  const outside = path.join(kndl.dir, 'outside.json');
  fs.writeFileSync(outside, 'untouched');
  for (const name of ['.claude.json', 'settings.json']) fs.rmSync(path.join(config, name), { force: true });
  fs.symlinkSync(outside, path.join(config, '.claude.json'));
  execFileSync('mkfifo', [path.join(config, 'settings.json')]);
  await says(id, 'still-here');
  assert.equal(fs.readFileSync(outside, 'utf8'), 'untouched');
});

// What Claude Code wrote down, main conversation and Subagents alike.
function transcripts(sessionId) {
  const projects = path.join(sessionDir(sessionId), 'config/projects');
  const files = fs.readdirSync(projects, { recursive: true }).filter((name) => name.endsWith('.jsonl'));

  return files.map((name) => fs.readFileSync(path.join(projects, name), 'utf8')).join('\n');
}

test('LI-06: what the mod could not send before the end is read from the transcripts', async () => {
  const text = (words, rest = {}) => ({ type: 'text', text: words, ...rest });
  const input = { description: 'Help', prompt: 'CHILDTASK', subagent_type: 'general-purpose' };
  // Longer than a line that can be parsed, with what no text may hold.
  const long = `child-second \0${'é'.repeat(1024 * 1024)}`;
  const second = text(long, { hold: true, piece: 64 * 1024, gap_ms: 0 });
  kndl.anthropic.use({
    rules: [
      { name: 'child', match: 'CHILDTASK', steps: [{ blocks: [text('child-first'), second] }] },
      {
        name: 'parent',
        match: 'withhelper',
        steps: [{ blocks: [{ type: 'tool_use', name: 'Agent', input }] }, { blocks: [text('parent-done')] }],
      },
    ],
  });
  const id = await create('withhelper');
  await until('the helper began', async () =>
    (await events(id)).some((event) => event.subagentId && event.text?.text === 'child-first'));
  await until('the helper is held', () => kndl.anthropic.held());

  await kndl.program('stop', 'runner-agent');
  await kndl.anthropic.release();
  await until('it is written down', () => transcripts(id).includes('child-second'));
  killClaude(id);
  await kndl.program('start', 'runner-agent');
  await reaches(id, 'STATE_ASLEEP');
  const said = (await events(id)).filter((event) => event.subagentId && event.text);
  assert.deepEqual(said.map((event) => event.text.text.slice(0, 16)), ['child-first', 'child-second \ufffdéé']);
  assert.equal(Number(said[1].text.fullBytes), Buffer.byteLength(long.replace('\0', '\ufffd')));
  kndl.anthropic.use('all');
});

test('LI-06: what was told long ago is not read again', async () => {
  const text = (words) => ({ type: 'text', text: words });
  const input = { description: 'Help', prompt: 'CHILDTASK', subagent_type: 'general-purpose' };
  const much = Array.from({ length: 8 }, (_, n) => ({ ...text(`${n} ${'m'.repeat(300 * 1024)}`), piece: 100 * 1024, gap_ms: 0 }));
  kndl.anthropic.use({
    rules: [
      { name: 'child', match: 'CHILDTASK', steps: [{ blocks: [text('child-says')] }] },
      { name: 'much', match: 'saymuch', steps: [{ blocks: much }] },
      {
        name: 'parent',
        match: 'withhelper',
        steps: [{ blocks: [{ type: 'tool_use', name: 'Agent', input }] }, { blocks: [text('parent-done')] }],
      },
    ],
  });
  const id = await create('withhelper');
  await until('the helper is done', async () => (await events(id)).some((event) => event.subagentEnded));
  const spool = path.join(sessionDir(id), 'spool-1');
  const [first] = fs.readdirSync(spool);
  while (fs.existsSync(path.join(spool, first))) {
    const seq = await lastSeq(id);
    await prompt(id, 'saymuch');
    await turnEnds(id, seq);
  }
  await kndl.program('stop', 'runner-agent');
  killClaude(id);
  await kndl.program('start', 'runner-agent');
  await reaches(id, 'STATE_ASLEEP');
  const list = await kndl.json('events', id);
  assert.equal(list.filter((event) => event.subagentId && event.text).length, 1);
  kndl.anthropic.use('all');
});

test('a Claude Code whose mod says nothing is a failure with its screen, and Retry works', async () => {
  const binary = path.join(home(), 'claude-code/2.1.332-glibc/claude');
  fs.renameSync(binary, `${binary}.kept`);
  fs.writeFileSync(binary, '#!/bin/sh\necho no mods here; exec sleep 300\n', { mode: 0o755 });
  const message = { requestId: requestId(), repoName: 'demo/hello' };
  const { id } = (await call('CreateSession', message)).session;
  const failed = await until('it is Failed', async () => {
    const now = await show(id);
    return now.state === 'STATE_FAILED' && now;
  }, 90 * 1000);
  fs.renameSync(`${binary}.kept`, binary);
  assert.equal(failed.reasonCode, 'mod_missing');
  const output = (await events(id)).find((event) => event.note?.noteCode === 'last_output');
  assert.match(output.note.text, /no mods here/);
  await call('WakeSession', { requestId: requestId(), sessionId: id });
  await reaches(id, 'STATE_ACTIVE');
  await says(id, 'there-now');
});

test('CR-04: a Claude Code that does not hang up is gone five seconds after its setup token', async () => {
  const id = await create('say before');
  await turnEnds(id);
  inside(id, 'kill', '-STOP', inside(id, 'cat', '/run/kndl/claude.pid').trim());
  await kndl.setSetupToken(null);
  await until('it sleeps', async () => (await show(id)).state === 'STATE_ASLEEP', 5000);
  assert.equal((await show(id)).reasonCode, 'setup_token_removed');
});
