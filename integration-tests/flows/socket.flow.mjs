// The WebSocket, with everything real: who watches a Session sees each Event once and in order,
// whatever is killed meanwhile.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Kndl } from '../harness/kndl.mjs';
import { Viewer } from '../harness/socket.mjs';
import { until } from '../harness/until.mjs';

let kndl;
let cookie;
let session;
let viewer;

before(async () => {
  kndl = await Kndl.start('socket');
  cookie = await kndl.signIn();
  session = (await kndl.json('new', 'demo/hello', '--prompt', 'say first', '--wait'))[0].id;
});

after(async () => {
  viewer?.close();
  await kndl?.stop();
});

const lastSeq = async () => Number((await kndl.json('events', session)).at(-1).seq);

async function assertSawAll() {
  const last = await lastSeq();
  await until(`Event ${last} is seen`, () => viewer.seqs.at(-1) === last);
  assert.deepEqual(viewer.faults, []);
  assert.deepEqual(viewer.seqs, Array.from({ length: last }, (_, n) => n + 1));
}

test('EV-03: a viewer gets the view, and text as it streams', async () => {
  viewer = new Viewer(kndl, cookie, session);
  await until('the view is there', () => viewer.view);
  assert.equal(viewer.view.session.id, session);
  assert.equal(viewer.view.session.isCreator, true);
  await kndl.ok('prompt', session, 'slowtext');
  await until('text streams', () =>
    [...viewer.blocks.values()].some(({ begin, text }) => begin === 0 && text.includes('Line 2 ')));
  await until('the Turn ends', () => viewer.kinds.at(-1) === 'turnEnded');
  await assertSawAll();
});

for (const program of ['api-gateway', 'sessions', 'nats', 'redactor', 'repo-access']) {
  test(`EV-03: ${program} is killed while text streams, and nothing is missing or twice`, async () => {
    const seen = viewer.kinds.length;
    await kndl.ok('prompt', session, 'slowtext');
    await until('text streams', () => viewer.blocks.size > 0
      && [...viewer.blocks.values()].some(({ text }) => text.length > 50));
    await kndl.kill(program);
    await until('the Turn ends', () => viewer.kinds.slice(seen).includes('turnEnded'));
    await assertSawAll();
  });
}

test('faults 36: a second viewer, who signs out, is sent away', async () => {
  const other = new Viewer(kndl, await kndl.signIn('grace'), session);
  await until('the view is there', () => other.view ?? other.closed);
  const answer = await kndl.hub('/auth/signout', {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json', origin: kndl.facts.hub_url, cookie: other.cookie },
  });
  assert.equal(answer.status, 200);
  await until('the socket is closed', () => other.closes.includes(4401));
  other.close();
});

test('a gateway that is stopped lets nobody hang', async () => {
  const after = await lastSeq();
  const waiting = kndl.call('kndl.sessions.v1.SessionsService/ListEvents',
    { sessionId: session, afterSeq: after, waitMs: 25000 });
  await until('the wait has begun', async () => (await kndl.hub('/health')).status === 200);
  await kndl.program('stop', 'api-gateway');
  const answer = await waiting;
  assert.equal(answer.status, 200);
  assert.equal(answer.body.events, undefined);
  await until('the viewer was sent away', () => viewer.closes.includes(1012));
  await kndl.program('start', 'api-gateway');
  await kndl.ok('prompt', session, 'say again', '--wait');
  await assertSawAll();
});
