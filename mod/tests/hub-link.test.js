import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forever, Host, load } from './fake.js';

const QUESTIONS = [{ question: 'Which color?', options: [{ label: 'Red' }, { label: 'Blue' }] }];

async function started(respond) {
  const host = new Host().load(await load('hub-link'));

  host.respond = respond ?? (() => ({ status: 200, text: '{}' }));
  await host.dispatch('session.start', {});
  await host.until(() => host.requests.find((r) => r.path === '/mod/hello'));
  return host;
}

async function* chunks(...values) {
  yield* values;
  return { answer: '' };
}

async function drain(stream) {
  for await (const piece of stream) void piece;
}

test('hello names the conversation and comes before any event', async () => {
  const host = await started();

  assert.equal(host.requests[0].path, '/mod/hello');
  assert.equal(host.requests[0].body.claudeSessionId, 'c-1');
});

test('an event is sent until the relay said 200, with its number', async () => {
  let refusals = 3;
  const host = await started(({ path }) =>
    path === '/mod/events' && refusals-- > 0 ? { status: 503 } : { status: 200, text: '{}' },
  );

  await host.dispatch('turn.start', { turnId: 't1', text: 'hi' });
  await host.until(() => refusals < 0);
  const posts = host.requests.filter((r) => r.path === '/mod/events');

  assert.equal(posts.length, 4);
  for (const post of posts) {
    assert.equal(post.body.first, 1);
    assert.equal(post.body.events[0].m, 1);
    assert.equal(post.body.epoch, posts[0].body.epoch);
  }
});

test('EV-01 pieces of one block join while they wait, and never one that was sent', async () => {
  let release;
  const held = new Promise((resolve) => (release = resolve));
  const host = await started(async ({ path, body }) => {
    if (path === '/mod/events' && body.first === 1) await held;
    return { status: 200, text: '{}' };
  });
  const step = { turnId: 't1', index: 0 };

  const text = (piece) => ({ kind: 'text', index: 0, text: piece });
  await drain(host.dispatch('turn.step', step, () => chunks(text('a'))));
  await host.until(() => host.requests.find((r) => r.path === '/mod/events'));
  await drain(host.dispatch('turn.step', step, () => chunks(text('b'), text('c'))));
  release();
  await host.until(() => host.events().length === 2);
  assert.deepEqual(
    host.events().map((event) => event.text),
    ['a', 'bc'],
  );
});

test('the piece that begins a block says so, also when others joined it', async () => {
  const host = await started();
  const text = (index, piece) => ({ kind: 'text', index, text: piece });
  const tool = { kind: 'tool', index: 2, id: 'toolu_1', name: 'Bash' };

  const steps = [[text(0, 'a'), text(1, 'b'), text(1, 'c'), tool], [text(0, 'd')]];
  for (const [index, pieces] of steps.entries())
    await drain(host.dispatch('turn.step', { turnId: 't1', index }, () => chunks(...pieces)));
  await host.dispatch('turn.step', { turnId: 't1', index: 2 }, () => chunks(text(0, 'e'))).next();
  await host.until(() => host.events().at(-1)?.text === 'e');
  const firsts = host.events().filter((event) => event.isFirst);

  assert.deepEqual(
    firsts.map((event) => [event.step, event.index, (event.text ?? event.name)[0]]),
    [[0, 0, 'a'], [0, 1, 'b'], [0, 2, 'B'], [1, 0, 'd'], [2, 0, 'e']],
  );
});

test('an answer that is asked for again begins its blocks anew', async () => {
  const host = await started();
  const text = (piece) => ({ kind: 'text', index: 0, text: piece });
  const notice = { door: 'notice', uuid: 'u', message: { type: 'system', name: 'api_error' } };

  async function* lostOnce() {
    yield text('one ');
    await host.dispatch('session.append', { ...notice, agentId: 'another' });
    yield text('two ');
    await host.dispatch('session.append', notice);
    yield text('one ');
    yield text('two');
  }
  await drain(host.dispatch('turn.step', { turnId: 't1', index: 0 }, lostOnce));
  await host.until(() => host.events().filter((event) => event.isFirst).length === 2);
  await host.until(() => host.events().at(-1)?.text?.endsWith('two'));
  const pieces = host.events().filter((event) => event.type === 'delta');

  assert.equal(pieces.map((piece) => (piece.isFirst ? '|' : '') + piece.text).join(''), '|one two |one two');
});

test('a row comes with its door, origin and id, without the bytes of pictures', async () => {
  const host = await started();
  const content = [
    { type: 'tool_result', tool_use_id: 'x', content: [{ type: 'image', source: { data: 'AA' } }] },
  ];

  await host.dispatch('session.append', {
    door: 'tool-result',
    origin: { kind: 'tool' },
    uuid: 'u1',
    message: { type: 'user', content },
  });
  await host.until(() => host.events().length === 1);
  const [event] = host.events();

  assert.equal(event.uuid, 'u1');
  assert.deepEqual(event.message.content[0].content, [{ type: 'image' }]);
});

test('a Turn that an API error ended carries its word', async () => {
  const host = await started();

  await host.dispatch('classic.StopFailure', { error: 'authentication_failed' });
  await host.dispatch('turn.complete', { turnId: 't', reason: 'error', durationMs: 3 });
  await host.dispatch('turn.complete', { turnId: 't2', reason: 'answer', durationMs: 3 });
  await host.until(() => host.events().length === 2);
  assert.equal(host.events()[0].error, 'authentication_failed');
  assert.equal(host.events()[1].error, undefined);
});

test('EV-03 a question is known by its tool_use_id and answered by the relay', async () => {
  let refusals = 2;
  const host = await started(({ path }) => {
    if (path !== '/mod/answers/toolu_1') return { status: 200, text: '{}' };
    if (refusals-- > 0) return { status: refusals === 0 ? 204 : 503 };
    return { status: 200, text: '{"answers":["Blue"]}' };
  });

  const call = { tool: 'AskUserQuestion', tool_use_id: 'toolu_1', questions: QUESTIONS };
  let answer;
  await host.dispatch('tool.call', call, async () => {
    answer = await host.dispatch('classic.PermissionRequest', {
      tool_name: 'AskUserQuestion',
      tool_input: { questions: QUESTIONS },
    });
    return { result: { answers: answer.decision.updatedInput.answers } };
  });
  assert.deepEqual(answer.decision.updatedInput.answers, { 'Which color?': 'Blue' });
  await host.until(() => host.events().length === 2);
  const [asked, ended] = host.events();

  assert.equal(asked.type, 'question');
  assert.equal(ended.id, 'toolu_1');
  assert.deepEqual(ended.answers, { 'Which color?': 'Blue' });
  assert.equal(ended.isError, false);
});

test('a question that was answered elsewhere is left to Claude Code', async () => {
  const host = await started(({ path }) => ({
    status: path.startsWith('/mod/answers/') ? 410 : 200,
    text: '{}',
  }));
  const call = { tool: 'AskUserQuestion', tool_use_id: 'toolu_2', questions: QUESTIONS };
  let answer;

  await host.dispatch('tool.call', call, async () => {
    answer = await host.dispatch(
      'classic.PermissionRequest',
      { tool_name: 'AskUserQuestion', tool_input: { questions: QUESTIONS } },
      async () => 'left alone',
    );
    return {};
  });
  assert.equal(answer, 'left alone');
});

test('the end of the conversation sends what is left, within the hook', async () => {
  const host = await started(async ({ path, body }) => {
    if (path === '/mod/events' && body.events.length === 1) return forever();
    return { status: 200, text: '{}' };
  });

  await host.dispatch('turn.start', { turnId: 't1', text: '' });
  await host.until(() => host.events().length === 1);
  await host.dispatch('session.end', { reason: 'other', sessionId: 'c-1' });
  assert.deepEqual(
    host.events().map((event) => event.type),
    ['turn.start', 'session.end'],
  );
});

test('the end of the conversation asks again where the relay has no time', async () => {
  let refusals = 3;
  const host = await started(({ path }) =>
    path === '/mod/events' && refusals-- > 0 ? { status: 503 } : { status: 200, text: '{}' },
  );

  await host.dispatch('session.end', { reason: 'other', sessionId: 'c-1' });
  assert.ok(refusals < 0);
  assert.equal(host.events().at(-1).type, 'session.end');
});

test('what the relay cannot read is lost alone, and that is said', async () => {
  const host = await started(({ path, body }) => {
    const isOdd = path === '/mod/events' && body.events.some((event) => event.text === 'odd');

    return { status: isOdd ? 400 : 200, text: '{}' };
  });

  await host.dispatch('turn.start', { turnId: 'a', text: 'odd' });
  await host.dispatch('turn.start', { turnId: 'b', text: 'even' });
  await host.until(() => host.events().some((event) => event.turnId === 'b'));
  assert.deepEqual(
    host.events().map((event) => [event.type, event.m]),
    [
      ['lost', 1],
      ['turn.start', 2],
    ],
  );
});

test('no event carries a NUL or half a character', async () => {
  const host = await started();

  await host.dispatch('turn.start', { turnId: 't', text: 'a\0b\ud83dc \\u0000 \u{1f600}' });
  await host.until(() => host.events().length === 1);
  assert.equal(host.events()[0].text, 'a\ufffdb\ufffdc \\u0000 \u{1f600}');
});

/* A row of one block, as it goes to the relay, with the bytes of its batch. */
async function sentRow(content) {
  const host = await started();

  await host.dispatch('session.append', { door: 'response', uuid: 'u', message: { content } });
  await host.until(() => host.events().length === 1);
  const post = host.requests.find((r) => r.path === '/mod/events');

  return {
    block: host.events()[0].message.content[0] ?? host.events()[0].message,
    message: host.events()[0].message,
    bytes: Buffer.byteLength(JSON.stringify(post.body)),
  };
}

const RELAY_BYTES_MAX = 512 * 1024;

test('a text that is cut says how long it was, and fits what the relay takes', async () => {
  for (const piece of ['plain words ', '\u001b[1m', '"\\\n', '漢字', '\u{1f600}']) {
    const text = piece.repeat(Math.ceil(2000000 / piece.length));
    const { block, bytes } = await sentRow([{ type: 'text', text }]);

    assert.equal(block.fullBytes, Buffer.byteLength(text));
    assert.ok(text.startsWith(block.text));
    assert.ok(Buffer.byteLength(block.text) >= 64 * 1024, piece);
    assert.ok(bytes <= RELAY_BYTES_MAX, piece);
    assert.ok(block.text.isWellFormed?.() ?? true);
  }
});

test('a text of 256 KiB is whole and says nothing of its length', async () => {
  const text = 'x'.repeat(256 * 1024);
  const { block } = await sentRow([{ type: 'text', text }]);

  assert.equal(block.text, text);
  assert.equal(block.fullBytes, undefined);
});

test('the texts of one row share its room', async () => {
  const content = Array.from({ length: 20 }, () => ({ type: 'text', text: 'y'.repeat(100000) }));
  const { message, bytes } = await sentRow([{ type: 'tool_result', tool_use_id: 't', content }]);
  const blocks = message.content[0].content;

  assert.equal(blocks[0].text.length, 100000);
  assert.equal(blocks[0].fullBytes, undefined);
  assert.deepEqual(blocks[19], { type: 'text', text: '', fullBytes: 100000 });
  assert.ok(bytes <= RELAY_BYTES_MAX);
});

test('an input that is too long keeps its short members, and no string of it is cut', async () => {
  const input = { file_path: '/a', content: 'z'.repeat(1000000), edits: Array(9000).fill(1) };
  const { block, bytes } = await sentRow([{ type: 'tool_use', id: 't', name: 'Write', input }]);

  assert.deepEqual(block.input, {
    file_path: '/a',
    content: '(1000002 bytes)',
    edits: `(${JSON.stringify(input.edits).length} bytes)`,
  });
  assert.equal(block.fullBytes, JSON.stringify(input).length);
  assert.ok(bytes <= RELAY_BYTES_MAX);
});
