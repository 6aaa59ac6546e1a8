// kill -9 of any one process while a Turn streams: it comes back, nothing is missing, nothing twice.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Kndl, lines } from '../harness/kndl.mjs';
import { until } from '../harness/until.mjs';

const WORDS = Array.from({ length: 60 }, (_, n) => `word-${n}`).join(' ');
const SCENARIO = {
  rules: [{
    name: 'killed',
    match: 'stream (\\S+)',
    steps: [{ piece: 8, gap_ms: 40, blocks: [{ type: 'text', text: `$1 ${WORDS} end` }] }],
  }],
};

let kndl;
let session;

before(async () => {
  kndl = await Kndl.start('kills', { scenario: SCENARIO });
  session = lines(await kndl.ok('new', 'demo/hello', '--prompt', 'stream begin', '--wait', '--json'))[0].id;
});

after(async () => {
  await kndl?.stop();
});

const victims = ['api-gateway', 'redactor', 'sessions', 'secrets', 'repo-access', 'runner-agent', 'nats', 'postgres'];

for (const victim of victims) {
  test(`kill -9 of ${victim} while a Turn streams`, async () => {
    const asked = (await kndl.anthropic.log()).length;
    await kndl.ok('prompt', session, `stream ${victim}`);
    await until('Claude Code asked', async () =>
      (await kndl.anthropic.log(0)).slice(asked).some((entry) => entry.rule === 'killed'));
    await kndl.kill(victim);
    await kndl.ready();
    const list = await until('the Turn ended', async () => {
      const events = await kndl.json('events', session);
      const from = events.findIndex((event) => event.prompt?.text === `stream ${victim}`);
      const ended = from >= 0 && events.slice(from).some((event) => event.turnEnded);
      return ended && events;
    }, 120 * 1000);
    assert.deepEqual(list.map((event) => Number(event.seq)), list.map((_, n) => n + 1));
    const prompts = list.filter((event) => event.prompt?.text === `stream ${victim}`);
    const texts = list.filter((event) => event.text?.text === `${victim} ${WORDS} end`);
    assert.equal(prompts.length, 1, 'the prompt once');
    assert.equal(texts.length, 1, 'the answer once, and whole');
  });
}
