// What Claude had begun to say when its Turn, its Claude Code or the connection to Anthropic ended is
// an Event: people saw it as it streamed, and see it afterwards, marked as cut off, once.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Kndl, lines } from '../harness/kndl.mjs';
import { inside } from '../harness/sandbox.mjs';
import { Viewer } from '../harness/socket.mjs';
import { until } from '../harness/until.mjs';

const TOKEN = 'sk-ant-oat01-planted-cut-off-0123456789abcdef';
const STARS = '*'.repeat(TOKEN.length);
const SAID = 'these words stand here and';
const LONG = `${SAID} ${'on '.repeat(4000)}`; // for longer than its test lasts

const text = (words, rest = {}) => ({ type: 'text', text: words, ...rest });
const tool = (name, input, rest = {}) => ({ type: 'tool_use', name, input, ...rest });
const said = (words, rest = {}) => ({ blocks: [text('finished.'), text(words, { hold_end: true, ...rest })] });
const helper = { description: 'Help', prompt: 'CHILDTASK', subagent_type: 'general-purpose' };
// The prompt is "<name> it".
const REPLIES = {
  remove: said(SAID),
  kill: said(SAID),
  lose: said(SAID, { lose_end: true }),
  retry: { blocks: [text(SAID, { lose_end: 1, hold_end: true })] },
  stop: said(SAID),
  think: { blocks: [{ type: 'thinking', thinking: SAID, hold_end: true }, text('thought.')] },
  tell: said(`${SAID} ${TOKEN} and ${TOKEN.slice(0, -6)}`),
  finish: said(SAID),
  whole: said(SAID),
  slow: { blocks: [text(LONG, { piece: 4, gap_ms: 100 })] },
  call: { blocks: [tool('Bash', { command: `echo ${SAID} ${TOKEN}` }, { hold_end: true })] },
};
const SCENARIO = {
  rules: [
    { name: 'child', match: 'CHILDTASK', steps: [said(SAID)] },
    { name: 'helper', match: 'helper it', steps: [{ blocks: [tool('Agent', helper)] }, { blocks: [text('parent-done')] }] },
    ...Object.entries(REPLIES).map(([name, reply]) => ({ name, match: `${name} it`, steps: [reply] })),
  ],
};

let kndl;
let cookie;
const viewers = new Map(); // by Session

before(async () => {
  kndl = await Kndl.start('cut-off', { scenario: SCENARIO });
  await kndl.setSetupToken(TOKEN);
  cookie = await kndl.signIn();
});

after(async () => {
  for (const viewer of viewers.values()) viewer.close();
  kndl?.anthropic.use({ rules: [] }); // which holds a value
  await kndl?.stop();
});

const events = (session) => kndl.json('events', session);
const show = async (session) => (await kndl.call('kndl.sessions.v1.SessionsService/GetSession', { sessionId: session })).body.session;
const reaches = (session, state) => until(`it is ${state}`, async () => (await show(session)).state === state);

const blocks = (session) => [...viewers.get(session).blocks.values()].map((block) => block.text);

// A Session whose prompt has streamed all of what it says and waits there, before its end.
async function streams(name, { words = SAID, held = name } = {}) {
  const [{ id }] = lines(await kndl.ok('new', 'demo/hello', '--prompt', `${name} it`, '--json'));

  viewers.set(id, new Viewer(kndl, cookie, id));
  await until('it has streamed', () => blocks(id).some((block) => block.includes(words)));
  if (name !== 'slow') await until('its end is held', () => kndl.anthropic.held(held));
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
  await reaches(session, 'STATE_ASLEEP');
}

describe('side by side', { concurrency: 3 }, () => {
  test('EV-07: Claude Code is killed while it says something', async () => {
    const session = await streams('kill');
    await killClaude(session);
    await isCutOff(session);
  });

  test('EV-07: the connection to Anthropic is lost in the middle', async () => {
    const session = await streams('lose');
    await kndl.anthropic.release('lose');
    assert.equal((await turnEnds(session)).reason, 'REASON_ERROR');
    await isCutOff(session);
  });

  test('EV-01: what is lost and asked for again streams anew, and comes once', async () => {
    const session = await streams('retry');
    const asks = async () => (await kndl.anthropic.log()).filter((entry) => entry.rule === 'retry').length;
    const asked = await asks();
    await kndl.anthropic.release('retry');
    await until('it is asked for again', async () => await asks() > asked);
    await until('its end is held again', () => kndl.anthropic.held('retry'));
    await until('it streams from its beginning', () => blocks(session).at(-1) === SAID);
    await kndl.anthropic.release('retry');
    assert.equal((await turnEnds(session)).reason, 'REASON_ANSWER');
    assert.deepEqual(await texts(session), [[SAID, false]]);
    assert.equal(blocks(session).length, 1);
  });

  test('EV-04: a Turn is stopped while Claude says something', async () => {
    const session = await streams('stop');
    await kndl.ok('stop', session);
    assert.equal((await turnEnds(session)).reason, 'REASON_STOPPED');
    assert.deepEqual((await texts(session)).map(([words]) => words), ['finished.', SAID]);
  });

  test('EV-04: a Turn is stopped while Claude thinks', async () => {
    const session = await streams('think');
    await kndl.ok('stop', session);
    await turnEnds(session);
    const thoughts = (await events(session)).filter((event) => event.thinking).map((event) => event.thinking);
    assert.deepEqual(thoughts.map((thought) => [thought.text, thought.isUnfinished]), [[SAID, true]]);
  });

  test('EV-05: a Subagent is cut off with its Claude Code', async () => {
    const session = await streams('helper', { held: 'child' });
    await until('its parent is done', async () => (await events(session)).some((event) => event.text?.text === 'parent-done'));
    await killClaude(session);
    const own = (await events(session)).filter((event) => event.subagentId && event.text).map((event) => event.text);
    assert.deepEqual(own.map((block) => [block.text, block.isUnfinished ?? false]), [['finished.', false], [SAID, true]]);
  });

  test('RD-01: what is cut off is masked, the beginning of a value at its end too', async () => {
    const session = await streams('tell', { words: `${SAID} ${STARS} and` });
    await killClaude(session);
    assert.deepEqual((await texts(session)).at(-1), [`${SAID} ${STARS} and ${STARS.slice(6)}`, true]);
  });

  test('EV-07: a block that finished is not cut off as well, whatever ends then', async () => {
    const session = await streams('finish');
    await kndl.anthropic.release('finish');
    await turnEnds(session);
    await killClaude(session);
    assert.deepEqual(await texts(session), [['finished.', false], [SAID, false]]);
  });
});

test('LI-07: what streams while its Runner is killed streams on, comes once, and is kept where it is cut off', async () => {
  const sessions = await Promise.all(['whole', 'slow', 'call'].map((name) => streams(name)));
  const [whole, slow, call] = sessions;
  const seen = blocks(slow)[0];
  for (const session of sessions) viewers.get(session).blocks.clear();
  await kndl.kill('runner-agent');
  for (const session of sessions) await reaches(session, 'STATE_ACTIVE');
  await until('it streams on', () => blocks(slow).some((block) => block.startsWith(SAID) && block.length > seen.length + 10));
  const shown = blocks(slow).find((block) => block.startsWith(SAID));
  assert.ok(LONG.startsWith(shown), shown);

  await kndl.anthropic.release('whole');
  await Promise.all([turnEnds(whole), killClaude(slow), killClaude(call)]);
  assert.deepEqual(await texts(whole), [['finished.', false], [SAID, false]]);

  const [[words, isUnfinished], ...others] = await texts(slow);
  assert.ok(isUnfinished && LONG.startsWith(words) && words.startsWith(shown), words);
  assert.deepEqual(others, []);

  const calls = (await events(call)).filter((event) => event.toolCall).map((event) => event.toolCall);
  assert.deepEqual(calls.map(({ name, isUnfinished: isCut }) => [name, isCut]), [['Bash', true]]);
  assert.ok(calls[0].inputJson.includes(`echo ${SAID} ${STARS}`), calls[0].inputJson);
});

test('EV-07: the setup token is removed while Claude says something', async () => {
  const session = await streams('remove');
  await kndl.setSetupToken(null);
  await reaches(session, 'STATE_ASLEEP');
  await isCutOff(session);
});
