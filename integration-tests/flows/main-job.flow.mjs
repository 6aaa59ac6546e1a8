// The main job, end to end: a prompt to the real Claude Code in a real Sandbox, answered in the
// CLI, and everything that happened kept as Events.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { Kndl, lines } from '../harness/kndl.mjs';
import { until } from '../harness/until.mjs';

let kndl;
let session;

before(async () => {
  kndl = await Kndl.start('main-job');
});

after(async () => {
  await kndl?.stop();
});

const events = (...more) => kndl.json('events', session, ...more);
const kinds = (list, kind) => list.filter((event) => event[kind]).map((event) => event[kind]);

function assertWithoutGaps(list) {
  assert.deepEqual(list.map((event) => Number(event.seq)), list.map((_, n) => n + 1));
}

// Where on this host a Session's file is, whatever the Runner calls its folders.
function findInWorkspaces(name) {
  const found = execFileSync('/usr/bin/find',
    ['-P', path.join(kndl.dir, 'runner'), '-xdev', '-type', 'f', '-name', name], { encoding: 'utf8' });
  return found.split('\n').filter((file) => file !== '' && !file.includes('/sandboxes/'));
}

test('the Repos of the App are listed for who may see them', async () => {
  const repos = (await kndl.json('repos')).map((repo) => repo.name ?? repo.fullName);
  assert.deepEqual(repos.sort(), ['demo/hello', 'demo/notes', 'demo/unclonable']);
});

test('EV-01: a prompt is answered, and its Bash call changes the Workspace', async () => {
  const printed = lines(await kndl.ok(
    'new', 'demo/hello', '--prompt', 'write proof.txt kndl-was-here', '--wait', '--json'));
  session = printed[0].id;
  assert.match(session, /^[a-z2-7]{26}$/);

  const list = await events();
  assertWithoutGaps(list);
  assert.equal(kinds(list, 'prompt')[0].text, 'write proof.txt kndl-was-here');
  const call = kinds(list, 'toolCall').find((entry) => entry.name === 'Bash');
  const result = kinds(list, 'toolResult').find((entry) => entry.toolUseId === call.toolUseId);
  assert.match(result.text, /kndl-was-here/);
  assert.ok(kinds(list, 'text').some((entry) => entry.text.includes('Wrote kndl-was-here to proof.txt.')));
  assert.equal(kinds(list, 'turnEnded')[0].reason, 'REASON_ANSWER');

  const files = findInWorkspaces('proof.txt');
  assert.equal(files.length, 1);
  assert.equal(fs.readFileSync(files[0], 'utf8'), 'kndl-was-here\n');
});

test('EV-07: who asks after a number gets what comes behind it, once', async () => {
  const all = await events();
  const rest = await events('--after', String(all.at(-3).seq));
  assert.deepEqual(rest.map((event) => event.seq), all.slice(-2).map((event) => event.seq));
});

test('EV-02: prompts are delivered once each, in order', async () => {
  for (const word of ['first', 'second', 'third']) await kndl.ok('prompt', session, `say ${word}-word`);
  await until('all three are answered', async () =>
    kinds(await events(), 'text').filter((entry) => /^(first|second|third)-word/.test(entry.text)).length >= 3);
  const list = await events();
  assertWithoutGaps(list);
  const said = kinds(list, 'prompt').map((entry) => entry.text).filter((text) => text.startsWith('say '));
  assert.deepEqual(said, ['say first-word', 'say second-word', 'say third-word']);
});

test('EV-02: a queued prompt can be cancelled before it is delivered', async () => {
  await kndl.ok('prompt', session, 'please hold');
  await until('the first half is held', async () => (await kndl.anthropic.held()) > 0);
  const queued = (await kndl.json('prompt', session, 'say never'))[0];
  await kndl.ok('cancel', session, queued.promptId ?? queued.id);
  await kndl.anthropic.release();
  await kndl.ok('prompt', session, 'say after-it', '--wait');
  const list = await events();
  assert.ok(!kinds(list, 'prompt').some((entry) => entry.text === 'say never'));
  assert.ok(kinds(list, 'text').some((entry) => entry.text.includes('this is the second half')));
});

test('EV-03: the Creator answers a question', async () => {
  await kndl.ok('prompt', session, 'ask two');
  const asked = await until('a question is open', async () => kinds(await events(), 'question').at(-1));
  assert.equal(asked.questions.length, 2);
  await kndl.ok('answer', session, asked.id, 'Apple, Plum', 'Blue');
  await until('the Turn goes on', async () =>
    kinds(await events(), 'text').some((entry) => entry.text === 'Thank you for both answers.'));
  const answer = kinds(await events(), 'answer').at(-1);
  assert.deepEqual(answer.answers, ['Apple, Plum', 'Blue']);
  assert.equal(answer.outcome, 'OUTCOME_ANSWERED');
});

test('EV-04: the Creator stops a Turn while its command runs', async () => {
  await kndl.ok('prompt', session, 'a long command please');
  await until('the command runs', async () =>
    kinds(await events(), 'toolCall').some((entry) => entry.inputJson.includes('seq 60')));
  await kndl.ok('stop', session);
  await until('the Turn was stopped', async () =>
    kinds(await events(), 'turnEnded').at(-1)?.reason === 'REASON_STOPPED');
});

test('LI-01, CC-02: it sleeps, wakes, and goes on with its conversation', async () => {
  await kndl.ok('sleep', session);
  const state = async () => (await kndl.json('show', session))[0].session.state;
  await until('it is Asleep', async () => (await state()) === 'STATE_ASLEEP');
  await kndl.ok('prompt', session, 'run: cat proof.txt', '--wait');
  assert.equal(await state(), 'STATE_ACTIVE');
  const list = await events();
  assertWithoutGaps(list);
  assert.ok(kinds(list, 'toolResult').at(-1).text.includes('kndl-was-here'));
  const requests = (await kndl.anthropic.log()).filter((entry) => entry.rule === 'run');
  assert.ok(requests.at(-1).messages > 10, 'Claude still knows what was said before');
  const states = kinds(list, 'stateChanged').map((entry) => entry.state);
  for (const wanted of ['STATE_STARTING', 'STATE_ACTIVE', 'STATE_GOING_TO_SLEEP', 'STATE_ASLEEP'])
    assert.ok(states.includes(wanted), wanted);
});

test('CC-10: Claude Code speaks to Anthropic itself, on the Creator\'s token', async () => {
  const log = await kndl.anthropic.log();
  const bearers = new Set(log.filter((entry) => entry.url.startsWith('/v1/messages'))
    .map((entry) => entry.bearer));
  assert.equal(bearers.size, 1);
  assert.notEqual([...bearers][0], '');
});
