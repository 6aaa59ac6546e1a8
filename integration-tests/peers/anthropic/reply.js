'use strict';
// Writes one scripted reply as the Messages API does: whole, or as server-sent events in pieces.

const crypto = require('crypto');

const SIGNATURE = 'c2NyaXB0ZWQ=';

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const newId = (prefix) => `${prefix}_${crypto.randomBytes(12).toString('hex')}`;

// Replies that wait, each of a rule; null is any rule's.
class Holds {
  #waiting = new Map();

  wait(closed, rule) {
    return new Promise((resolve) => {
      this.#waiting.set(resolve, rule);
      closed.then(() => {
        this.#waiting.delete(resolve);
        resolve();
      });
    });
  }

  #of(rule) {
    return [...this.#waiting].filter(([, name]) => rule === null || name === rule).map(([resolve]) => resolve);
  }

  release(rule) {
    const released = this.#of(rule);
    for (const resolve of released) {
      this.#waiting.delete(resolve);
      resolve();
    }
    return released.length;
  }

  count(rule) {
    return this.#of(rule).length;
  }
}

function cut(text, size) {
  const characters = [...text];
  const pieces = [];
  for (let i = 0; i < characters.length; i += size)
    pieces.push(characters.slice(i, i + size).join(''));
  return pieces.length > 0 ? pieces : [''];
}

const KINDS = {
  text: {
    empty: () => ({ type: 'text', text: '' }),
    whole: (block) => ({ type: 'text', text: block.text }),
    delta: (piece) => ({ type: 'text_delta', text: piece }),
    content: (block) => block.text,
  },
  thinking: {
    empty: () => ({ type: 'thinking', thinking: '', signature: '' }),
    whole: (block) => ({ type: 'thinking', thinking: block.thinking, signature: SIGNATURE }),
    delta: (piece) => ({ type: 'thinking_delta', thinking: piece }),
    content: (block) => block.thinking,
  },
  tool_use: {
    empty: (block) => ({ type: 'tool_use', id: block.id, name: block.name, input: {} }),
    whole: (block) => ({ type: 'tool_use', id: block.id, name: block.name, input: block.input ?? {} }),
    delta: (piece) => ({ type: 'input_json_delta', partial_json: piece }),
    content: (block) => JSON.stringify(block.input ?? {}),
  },
};

function prepare(reply) {
  const blocks = (reply.blocks ?? []).map((block) => {
    if (!KINDS[block.type]) throw new Error(`a block cannot be of type ${block.type}`);
    return block.type === 'tool_use' ? { ...block, id: block.id ?? newId('toolu') } : block;
  });
  const usesTool = blocks.some((block) => block.type === 'tool_use');
  const usage = {
    input_tokens: 10,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 20,
    ...reply.usage,
  };
  return { blocks, usage, stop: reply.stop_reason ?? (usesTool ? 'tool_use' : 'end_turn') };
}

function sendError(res, error) {
  res.writeHead(error.status ?? 500, {
    'content-type': 'application/json',
    'request-id': newId('req'),
    ...error.headers,
  });
  res.end(JSON.stringify({
    type: 'error',
    error: { type: error.type ?? 'api_error', message: error.message ?? 'scripted error' },
  }));
}

function sendWhole(res, model, prepared, headers) {
  res.writeHead(200, { 'content-type': 'application/json', ...headers });
  res.end(JSON.stringify({
    id: newId('msg'),
    type: 'message',
    role: 'assistant',
    model,
    content: prepared.blocks.map((block) => KINDS[block.type].whole(block)),
    stop_reason: prepared.stop,
    stop_sequence: null,
    usage: prepared.usage,
  }));
}

const losses = new Map();

// Is the connection lost at this block's end, always or so many times?
function isLost(block) {
  const key = JSON.stringify(block);
  const before = losses.get(key) ?? 0;
  losses.set(key, before + 1);
  return block.lose_end === true || before < (block.lose_end ?? 0);
}

// Answers whether the reply goes on behind the block.
async function streamBlock(emit, index, block, reply, hold) {
  const kind = KINDS[block.type];
  const gap = block.gap_ms ?? reply.gap_ms ?? 5;
  const size = block.type === 'tool_use' ? 200 : block.piece ?? reply.piece ?? 12;
  emit('content_block_start', { index, content_block: kind.empty(block) });
  for (const piece of cut(kind.content(block), size)) {
    if (emit.isOver()) return false;
    emit('content_block_delta', { index, delta: kind.delta(piece) });
    if (gap > 0) await sleep(gap);
  }
  if (block.hold_end) await hold();
  if (isLost(block)) return false;
  if (block.type === 'thinking')
    emit('content_block_delta', { index, delta: { type: 'signature_delta', signature: SIGNATURE } });
  emit('content_block_stop', { index });
  return true;
}

async function sendStream(res, model, reply, prepared, headers, hold) {
  let over = false;
  const closed = new Promise((resolve) => {
    res.on('close', () => {
      over = true;
      resolve();
    });
  });
  const emit = (type, data) => {
    if (!over) res.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  };
  emit.isOver = () => over;

  res.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    ...headers,
  });
  emit('message_start', {
    message: {
      id: newId('msg'),
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...prepared.usage, output_tokens: 1 },
    },
  });
  emit('ping', {});
  for (const [index, block] of prepared.blocks.entries()) {
    if (block.hold) await hold(closed);
    if (over) return false;
    if (!(await streamBlock(emit, index, block, reply, () => hold(closed)))) {
      res.destroy();
      return false;
    }
    if (block.after_ms) await sleep(block.after_ms);
  }
  emit('message_delta', {
    delta: { stop_reason: prepared.stop, stop_sequence: null },
    usage: { output_tokens: prepared.usage.output_tokens },
  });
  emit('message_stop', {});
  res.end();
  return !over;
}

// Answers whether the reply was taken to its end.
async function send(res, body, reply, scenarioHeaders, hold) {
  if (reply.delay_ms) await sleep(reply.delay_ms);
  if (reply.error) {
    sendError(res, reply.error);
    return true;
  }
  const headers = { 'request-id': newId('req'), ...scenarioHeaders, ...reply.headers };
  const prepared = prepare(reply);
  if (body.stream) return sendStream(res, body.model, reply, prepared, headers, hold);
  sendWhole(res, body.model, prepared, headers);
  return true;
}

module.exports = { Holds, send, sendError };
