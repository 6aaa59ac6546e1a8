// What a Runner and its Claude Code survive: a prompt after an Escape, a Claude Code that is killed,
// a host that restarts, a conversation that was never written down, hostile files.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

import { Kndl } from '../harness/kndl.mjs';
import { inside, sandboxOf } from '../harness/sandbox.mjs';
import { until } from '../harness/until.mjs';

const SESSIONS = 'kndl.sessions.v1.SessionsService';
const TICKS = 'for i in $(seq 60); do echo tick $i; read -t 1 < <(:) || /bin/sleep 1; done';

const text = (words, rest = {}) => ({ type: 'text', text: words, ...rest });
const helper = (prompt) => ({ type: 'tool_use', name: 'Agent', input: { description: 'Help', prompt, subagent_type: 'general-purpose' } });
const parent = (match, prompt) => ({ name: match, match, steps: [{ blocks: [helper(prompt)] }, { blocks: [text('parent-done')] }] });
// Longer than a line that can be parsed, with what no text may hold.
const LONG = `child-second \0${'é'.repeat(1024 * 1024)}`;
const MUCH = Array.from({ length: 8 }, (_, n) => text(`${n} ${'m'.repeat(300 * 1024)}`, { piece: 100 * 1024, gap_ms: 0 }));
const ALL = JSON.parse(fs.readFileSync(new URL('../peers/anthropic/scenarios/all.json', import.meta.url), 'utf8'));
const SCENARIO = {
  rules: [
    { name: 'held', match: 'HELDTASK', steps: [{ blocks: [text('child-first'), text(LONG, { hold: true, piece: 64 * 1024, gap_ms: 0 })] }] },
    { name: 'child', match: 'CHILDTASK', steps: [{ blocks: [text('child-says')] }] },
    { name: 'much', match: 'saymuch', steps: [{ blocks: MUCH }] },
    parent('withheldhelper', 'HELDTASK'),
    parent('withhelper', 'CHILDTASK'),
    ...ALL.rules,
  ],
};

let kndl;
let silent; // a Session whose Claude Code has no mod: 45 s are long, so others run meanwhile

before(async () => {
  kndl = await Kndl.start('survival', { scenario: SCENARIO });
  await create(); // Claude Code is there
  silent = await createSilent();
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

const tmux = (sessionId, ...argv) => inside(kndl, sessionId, 'tmux', '-S', '/run/kndl/tmux', ...argv);

async function killClaude(sessionId) {
  await inside(kndl, sessionId, 'kill', '-9', (await inside(kndl, sessionId, 'cat', '/run/kndl/claude.pid')).trim());
}

async function createSilent() {
  const binary = path.join(home(), 'claude-code/2.1.332-glibc/claude');
  fs.renameSync(binary, `${binary}.kept`);
  fs.writeFileSync(binary, '#!/bin/sh\necho no mods here; exec sleep 300\n', { mode: 0o755 });
  const message = { requestId: requestId(), repoName: 'demo/hello' };
  const { id } = (await call('CreateSession', message)).session;
  await until('it runs', async () => (await tmux(id, 'capture-pane', '-p', '-t', 's:claude')).includes('no mods here'));
  fs.renameSync(`${binary}.kept`, binary);
  return id;
}

async function runsBash(sessionId) {
  const seq = await lastSeq(sessionId);

  await prompt(sessionId, `run: ${TICKS}`);
  await until('Bash runs', async () =>
    (await events(sessionId)).some((event) => event.toolCall && Number(event.seq) > seq));
  return seq;
}

// What Claude Code wrote down, main conversation and Subagents alike.
function transcripts(sessionId) {
  const projects = path.join(sessionDir(sessionId), 'config/projects');
  const files = fs.readdirSync(projects, { recursive: true }).filter((name) => name.endsWith('.jsonl'));

  return files.map((name) => fs.readFileSync(path.join(projects, name), 'utf8')).join('\n');
}

describe('side by side', { concurrency: 3 }, () => {
  test('a Claude Code whose mod says nothing is a failure with its screen, and Retry works', async () => {
    const failed = await until('it is Failed', async () => {
      const now = await show(silent);
      return now.state === 'STATE_FAILED' && now;
    }, 90 * 1000);
    assert.equal(failed.reasonCode, 'mod_missing');
    const output = (await events(silent)).find((event) => event.note?.noteCode === 'last_output');
    assert.match(output.note.text, /no mods here/);
    await call('WakeSession', { requestId: requestId(), sessionId: silent });
    await reaches(silent, 'STATE_ACTIVE');
    await says(silent, 'there-now');
  });

  test('EV-02: after an Escape in the terminal a prompt is typed into the box, exact', async () => {
    const id = await create();
    const seq = await runsBash(id);
    await tmux(id, 'send-keys', '-t', 's:claude', 'Escape');
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
    await killClaude(id);
    const asleep = await reaches(id, 'STATE_ASLEEP');
    assert.equal(asleep.reasonCode, 'claude_exited');
    const ended = (await events(id)).find((event) => event.turnEnded && Number(event.seq) > seq);
    assert.equal(ended.turnEnded.reason, 'REASON_INTERRUPTED');
    await says(id, 'awake-again');
    assert.equal((await show(id)).run, '2');
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
});

describe('its Runner is away for longer than a hook may last', () => {
  let restarted; // its Sandbox ends with its host
  let asked;
  let question;
  let cut; // its Subagent writes what nobody takes
  let told;

  // So much that the spool has forgotten what its Subagent said.
  async function tellMuch() {
    told = await create('withhelper');
    await until('the helper is done', async () => (await events(told)).some((event) => event.subagentEnded));
    const spool = path.join(sessionDir(told), 'spool-1');
    const [first] = fs.readdirSync(spool).filter((name) => name.endsWith('.seg'))
      .sort((a, b) => parseInt(a, 10) - parseInt(b, 10));
    while (fs.existsSync(path.join(spool, first))) {
      const seq = await lastSeq(told);
      await prompt(told, 'saymuch');
      await turnEnds(told, seq);
    }
  }

  before(async () => {
    [restarted, asked, cut] = await Promise.all(['say before', 'ask one', 'withheldhelper'].map((words) => create(words)));
    await tellMuch();
    await turnEnds(restarted);
    question = await until('the question', async () => (await events(asked)).find((event) => event.question)?.question);
    await until('the helper began', async () =>
      (await events(cut)).some((event) => event.subagentId && event.text?.text === 'child-first'));
    await until('the helper is held', () => kndl.anthropic.held('held'));

    await kndl.program('stop', 'runner-agent');
    execFileSync('runc', ['--root', path.join(home(), 'oci'), 'kill', sandboxOf(kndl, restarted), 'KILL']);
    await kndl.anthropic.release('held');
    await until('it is written down', () => transcripts(cut).includes('child-second'));
    await Promise.all([killClaude(cut), killClaude(told)]);
    await reaches(asked, 'STATE_FROZEN');
    await kndl.program('start', 'runner-agent');
  });

  test('LI-06: when its host restarted, the run is lost, and a prompt starts the next', async () => {
    const asleep = await reaches(restarted, 'STATE_ASLEEP');
    assert.equal(asleep.reasonCode, 'runner_restarted');
    await says(restarted, 'after-the-restart');
  });

  test('LI-07: a question outlives it', async () => {
    await reaches(asked, 'STATE_ACTIVE');
    await call('AnswerQuestion', {
      requestId: requestId(),
      sessionId: asked,
      questionId: question.id,
      answers: [question.questions[0].options[1].label],
    });
    await turnEnds(asked);
    const answer = (await events(asked)).find((event) => event.answer);
    assert.equal(answer.answer.outcome, 'OUTCOME_ANSWERED');
  });

  test('LI-06: what the mod could not send before the end is read from the transcripts', async () => {
    await reaches(cut, 'STATE_ASLEEP');
    const said = (await events(cut)).filter((event) => event.subagentId && event.text);
    assert.deepEqual(said.map((event) => event.text.text.slice(0, 16)), ['child-first', 'child-second \ufffdéé']);
    assert.equal(Number(said[1].text.fullBytes), Buffer.byteLength(LONG.replace('\0', '\ufffd')));
  });

  test('LI-06: what was told long ago is not read again', async () => {
    await reaches(told, 'STATE_ASLEEP');
    const list = await kndl.json('events', told);
    assert.equal(list.filter((event) => event.subagentId && event.text).length, 1);
  });
});

test('CR-04: a Claude Code that does not hang up is gone five seconds after its setup token', async () => {
  const id = await create('say before');
  await turnEnds(id);
  await inside(kndl, id, 'kill', '-STOP', (await inside(kndl, id, 'cat', '/run/kndl/claude.pid')).trim());
  await kndl.setSetupToken(null);
  // Twice what is promised: another kndl may be on this machine.
  await until('it sleeps', async () => (await show(id)).state === 'STATE_ASLEEP', 10_000);
  assert.equal((await show(id)).reasonCode, 'setup_token_removed');
});
