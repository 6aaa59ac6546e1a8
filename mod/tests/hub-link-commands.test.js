import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forever, Host, load } from './fake.js';

/* A host whose relay offers these commands, one after the other, and then nothing. */
async function offered(...commands) {
  const host = new Host().load(await load('hub-link-commands'));

  host.respond = ({ path }) => {
    if (path === '/mod/results') return { status: 200, text: '{}' };
    const after = Number(path.split('=')[1]);
    const next = commands.find((command) => command.n > after);

    return next ? { status: 200, text: JSON.stringify(next) } : forever();
  };
  return host;
}

const resultOf = (host, n) =>
  host.until(
    () => host.requests.find((r) => r.path === '/mod/results' && r.body.command === n)?.body,
  );

test('EV-02 a prompt is submitted as the person and reported as started', async () => {
  const host = await offered({ n: 5, id: 'p', op: 'prompt', text: '/not a command\n\tx' });

  await host.dispatch('session.start', {});
  assert.deepEqual(await resultOf(host, 5), { command: 5, id: 'p', started: true });
  assert.deepEqual(host.acts[0], ['submit', { text: '/not a command\n\tx', asUser: true }]);
});

test('a promise that resolves with a drop is no receipt', async () => {
  const host = await offered({ n: 1, id: 'p', op: 'prompt', text: 'x' });

  host.submit = async () => ({ drop: 'the session was stopped and nobody has sent input since' });
  await host.dispatch('session.start', {});
  const result = await resultOf(host, 1);

  assert.equal(result.started, undefined);
  assert.match(result.drop, /session was stopped/);
});

test('the box is filled and its draft handed back; a dialog refuses', async () => {
  const host = await offered({ n: 1, id: 'f', op: 'fill', text: 'x' });

  host.draft = 'half a thou';
  host.fill = async () => ({ isFilled: false, refusal: 'dialog' });
  await host.dispatch('session.start', {});
  assert.deepEqual((await resultOf(host, 1)).result, {
    isFilled: false,
    refusal: 'dialog',
    draft: 'half a thou',
  });
});

test('EV-04 a stop aborts the Turn and ends the Bash that it moved to the background', async () => {
  const host = await offered({ n: 1, id: 's', op: 'stop' });
  let backgrounded;
  const bash = new Promise((resolve) => (backgrounded = resolve));

  host.abort = async () => {
    backgrounded({ result: { backgroundTaskId: 'b1', backgroundedByTurnAbort: true } });
    await host.dispatch('turn.complete', { turnId: 't1', reason: 'aborted' });
  };
  await host.dispatch('turn.start', { turnId: 't1', text: '' });
  const call = host.dispatch('tool.call', { tool: 'Bash', tool_use_id: 'u' }, () => bash);
  await host.dispatch('session.start', {});
  await call;
  const { result } = await resultOf(host, 1);

  assert.deepEqual(result, { wasRunning: true, stopped: ['b1'] });
  assert.deepEqual(host.acts, [
    ['abort', { turnId: 't1' }],
    ['tool', { tool: 'TaskStop', task_id: 'b1' }],
  ]);
});

test('a stop for a Turn that is over touches nothing', async () => {
  const host = await offered({ n: 1, id: 's', op: 'stop', turnId: 't0' });

  await host.dispatch('turn.start', { turnId: 't1', text: '' });
  await host.dispatch('session.start', {});
  assert.deepEqual((await resultOf(host, 1)).result, { wasRunning: false });
  assert.deepEqual(host.acts, []);
});

test('what it cannot do is said', async () => {
  const host = await offered({ n: 1, id: 'x', op: 'dance' });

  await host.dispatch('session.start', {});
  assert.match((await resultOf(host, 1)).error, /unknown op dance/);
});
