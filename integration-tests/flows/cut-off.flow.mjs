// What Claude had begun to say when its Turn, its Claude Code or the connection to Anthropic ended is
// an Event: people saw it as it streamed, and see it afterwards, marked as cut off, once.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { Kndl, lines } from '../harness/kndl.mjs';
import { inside } from '../harness/sandbox.mjs';
import { Viewer } from '../harness/socket.mjs';
import { until } from '../harness/until.mjs';

const TOKEN = 'sk-ant-oat01-planted-cut-off-0123456789abcdef';
const SAID = 'these words stand here and';
const text = (words, rest = {}) => ({ type: 'text', text: words, ...rest });
const said = (words) => ({ blocks: [text('finished.'), text(words, { hold_end: true })] });
const input = { description: 'Help', prompt: 'CHILDTASK', subagent_type: 'general-purpose' };
const SCENARIO = {
  rules: [
    { name: 'lost', match: 'lose it', steps: [{ blocks: [text('finished.'), text(SAID, { lose_end: true, hold_end: true })] }] },
    { name: 'again', match: 'retry it', steps: [{ blocks: [text(SAID, { lose_end: 1, hold_end: true })] }] },
    {
      name: 'thinks',
      match: 'think it',
      steps: [{ blocks: [{ type: 'thinking', thinking: SAID, hold_end: true }, text('thought.')] }],
    },
    { name: 'child', match: 'CHILDTASK', steps: [said(SAID)] },
    {
      name: 'parent',
      match: 'withhelper',
      steps: [{ blocks: [{ type: 'tool_use', name: 'Agent', input }] }, { blocks: [text('parent-done')] }],
    },
    { name: 'slow', match: 'slow it', steps: [{ blocks: [text(`${SAID} ${'on '.repeat(400)}`, { piece: 4, gap_ms: 100 })] }] },
    { name: 'says', match: 'begin it', steps: [said(SAID)] },
  ],
};

let kndl;
let cookie;
const viewers = [];

before(async () => {
  kndl = await Kndl.start('cut-off', { scenario: SCENARIO });
  await kndl.setSetupToken(TOKEN);
  cookie = await kndl.signIn();
});

after(async () => {
  for (const viewer of viewers) viewer.close();
  await kndl?.stop();
});

const events = (session) => kndl.json('events', session);
const show = async (session) => (await kndl.call('kndl.sessions.v1.SessionsService/GetSession', { sessionId: session })).body.session;
const reaches = (session, state) => until(`it is ${state}`, async () => (await show(session)).state === state);

// A Session whose prompt has streamed all of what it says and waits there, before its end.
async function streams(prompt, words = SAID) {
  const [{ id }] = lines(await kndl.ok('new', 'demo/hello', '--prompt', prompt, '--json'));
  const viewer = new Viewer(kndl, cookie, id);

  viewers.push(viewer);
  await until('it has streamed', () => [...viewer.blocks.values()].some((block) => block.text.includes(words)));
  if (prompt !== 'slow it') await until('its end is held', () => kndl.anthropic.held());
  return id;
}

const turnEnds = (session) => until('the Turn ended', async () =>
  (await events(session)).find((event) => event.turnEnded)?.turnEnded);

const texts = async (session) => (await events(session))
  .filter((event) => event.text).map((event) => [event.text.text, event.text.isUnfinished ?? false]);

async function isCutOff(session) {
  assert.deepEqual(await texts(session), [['finished.', false], [SAID, true]]);
  const list = await events(session);
  const [cut, ended] = [list.findIndex((event) => event.text?.isUnfinished), list.findIndex((event) => event.turnEnded)];
  assert.ok(cut < ended, 'before the end of its Turn');
  assert.equal((await kndl.ok('events', session)).split('(cut off here: Claude had not finished)').length, 2);
}

async function killClaude(session) {
  await inside(kndl, session, 'kill', '-9', (await inside(kndl, session, 'cat', '/run/kndl/claude.pid')).trim());
}

test('EV-07: the setup token is removed while Claude says something', async () => {
  const session = await streams('begin it');
  await kndl.setSetupToken(null);
  await reaches(session, 'STATE_ASLEEP');
  await isCutOff(session);
  await kndl.setSetupToken(TOKEN);
});

test('EV-07: Claude Code is killed while it says something', async () => {
  const session = await streams('begin it');
  await killClaude(session);
  await reaches(session, 'STATE_ASLEEP');
  await isCutOff(session);
});

test('EV-07: the connection to Anthropic is lost in the middle', async () => {
  const session = await streams('lose it');
  await kndl.anthropic.release();
  assert.equal((await turnEnds(session)).reason, 'REASON_ERROR');
  await isCutOff(session);
});

test('EV-01: what is lost and asked for again streams anew, and comes once', async () => {
  const session = await streams('retry it');
  const [viewer] = viewers.slice(-1);
  const asked = (await kndl.anthropic.log()).length;
  await kndl.anthropic.release();
  await until('it is asked for again', async () => (await kndl.anthropic.log()).length > asked);
  await until('its end is held again', () => kndl.anthropic.held());
  await until('it streams from its beginning', () => [...viewer.blocks.values()].at(-1).text === SAID);
  await kndl.anthropic.release();
  assert.equal((await turnEnds(session)).reason, 'REASON_ANSWER');
  assert.deepEqual(await texts(session), [[SAID, false]]);
  assert.equal(viewer.blocks.size, 1);
});

test('EV-04: a Turn is stopped while Claude says something, and while it thinks', async () => {
  const session = await streams('begin it');
  await kndl.ok('stop', session);
  assert.equal((await turnEnds(session)).reason, 'REASON_STOPPED');
  assert.deepEqual((await texts(session)).map(([words]) => words), ['finished.', SAID]);

  const thinks = await streams('think it');
  await kndl.ok('stop', thinks);
  await turnEnds(thinks);
  const thoughts = (await events(thinks)).filter((event) => event.thinking).map((event) => event.thinking);
  assert.deepEqual(thoughts.map((thought) => [thought.text, thought.isUnfinished]), [[SAID, true]]);
});

test('EV-05: a Subagent is cut off with its Claude Code', async () => {
  const session = await streams('withhelper');
  await until('its parent is done', async () => (await events(session)).some((event) => event.text?.text === 'parent-done'));
  await killClaude(session);
  await reaches(session, 'STATE_ASLEEP');
  const own = (await events(session)).filter((event) => event.subagentId && event.text).map((event) => event.text);
  assert.deepEqual(own.map((block) => [block.text, block.isUnfinished ?? false]), [['finished.', false], [SAID, true]]);
});

test('RD-01: what is cut off is masked, the beginning of a value at its end too', async () => {
  const stars = '*'.repeat(TOKEN.length);
  kndl.anthropic.use({ rules: [{ name: 'secret', match: 'tell it', steps: [said(`${SAID} ${TOKEN} and ${TOKEN.slice(0, -6)}`)] }] });
  const session = await streams('tell it', `${SAID} ${stars} and`);
  await killClaude(session);
  await reaches(session, 'STATE_ASLEEP');
  kndl.anthropic.use(SCENARIO);
  assert.deepEqual((await texts(session)).at(-1), [`${SAID} ${stars} and ${stars.slice(6)}`, true]);
});

test('LI-07: what streams while its Runner restarts is whole, and comes once', async () => {
  const session = await streams('begin it');
  await kndl.kill('runner-agent');
  await reaches(session, 'STATE_ACTIVE');
  await kndl.anthropic.release();
  await turnEnds(session);
  assert.deepEqual(await texts(session), [['finished.', false], [SAID, false]]);
});

test('LI-07: what is cut off after its Runner restarted is said to be lost, and no half of it is shown', async () => {
  const session = await streams('slow it');
  await kndl.kill('runner-agent');
  const log = fs.readFileSync(path.join(kndl.dir, 'log/runner-agent.log'), 'utf8').length;
  await reaches(session, 'STATE_ACTIVE');
  await until('it streams on', () => fs.readFileSync(path.join(kndl.dir, 'log/runner-agent.log'), 'utf8').slice(log)
    .split('\n').some((line) => line.includes('relay took events') && line.includes(session)));
  await killClaude(session);
  await reaches(session, 'STATE_ASLEEP');
  assert.deepEqual(await texts(session), []);
  assert.ok((await events(session)).some((event) => event.note?.noteCode === 'text_lost'));
});

test('EV-07: a block that finished is not cut off as well, whatever ends then', async () => {
  const session = await streams('begin it');
  await kndl.anthropic.release();
  await turnEnds(session);
  await killClaude(session);
  await reaches(session, 'STATE_ASLEEP');
  assert.deepEqual(await texts(session), [['finished.', false], [SAID, false]]);
});
