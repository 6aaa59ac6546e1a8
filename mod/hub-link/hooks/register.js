/*
 * hub-link: tells the relay what happens in this Claude Code, and asks it for answers.
 *
 * It changes nothing. What it sees becomes an event with a number within this load of the module
 * (`epoch`, from 1), waits in `queue`, and leaves it when the relay said 200, which it does once
 * the events are on the Runner's disk. One sender, started in session.start, runs outside of every
 * dispatch: a fetch that is made inside of a hook is aborted together with it.
 *
 * Its twin is hub-link-commands: a plugin's own `$` calls skip its own hooks, so what acts must
 * not be what observes.
 *
 * Functions that take `$` must be declared at the top level, or Claude Code refuses the module.
 */

const VERSION = 1;
/* The relay takes 512 KiB and 10,000 values at once, so that it never keeps other Sandboxes waiting. */
const BATCH_EVENTS_MAX = 200;
const BATCH_BYTES_MAX = 400 * 1024;
const ROW_BYTES_MAX = 400 * 1024; // of a row's texts, as JSON: nobody is shown more than 64 KiB of one
const INPUT_VALUES_MAX = 4000;
const MEMBER_BYTES_MAX = 2048; // of an input that is too long as a whole
const MEMBER_VALUES_MAX = 100;
const MEMBERS_MAX = 64;
const NAME_CHARS_MAX = 256;
const DELTA_CHARS_MAX = 32 * 1024; // to which pieces of a block join
const RETRY_MS_MAX = 1000;
const LAST_WORD_MS = 3000; // for what is left at the end, of the 10 s that a hook has
const LAST_WORD_PAUSE_MS = 100;

const epoch = Date.now().toString(36) + Math.random().toString(36).slice(2, 10);
const queue = [];
let relay = '';
let token = '';
let numbered = 0; // of the newest event
let sent = 0; // the highest number that may have reached the relay: not changed any more
let batchMost = BATCH_EVENTS_MAX;
let senderRuns = false;
let helloIsDue = true;
let wake; // the sender's, while it has nothing to do

/* The questions that are open: tool_use_id -> the questions' texts. */
const asked = new Map();

/* A compaction's summary came as a row of the conversation, as /compact's does not. */
let summaryCame = false;

/* How often the answer to each thread's request was lost and asked for again: it streams from its
 * beginning then. */
const retries = new Map();

/* The API error that ended the newest Turn of each thread, until its turn.complete takes it. */
const failures = new Map();

function emit(type, fields) {
  numbered += 1;
  queue.push({ m: numbered, at: Date.now(), type, ...fields });
  wake?.();
}

/* Text as it streams. A piece joins the one before it while that one has not been sent; one that
 * begins a block joins none. */
function emitDelta(fields) {
  const last = queue[queue.length - 1];

  if (
    last?.type === 'delta' &&
    last.m > sent &&
    last.kind === fields.kind &&
    last.kind !== 'tool' &&
    !fields.isFirst &&
    last.turnId === fields.turnId &&
    last.agentId === fields.agentId &&
    last.step === fields.step &&
    last.index === fields.index &&
    last.text.length < DELTA_CHARS_MAX
  ) {
    last.text += fields.text;
    return;
  }
  emit('delta', fields);
}

function request(method, body) {
  return { method, headers: { authorization: 'Bearer ' + token }, body };
}

/*
 * An event as JSON that strict readers take: NUL characters and halves of surrogate pairs, which
 * JSON.stringify escapes, become U+FFFD.
 */
function toJson(event) {
  return JSON.stringify(event).replace(/\\(?:\\|u0000|ud[89a-f][0-9a-f]{2})/g, (escape) =>
    escape === '\\\\' ? escape : '\\ufffd',
  );
}

/* The next events to send: a few hundred, and no more text than the relay likes in one piece. */
function nextBatch() {
  const batch = [];
  let bytes = 0;

  for (const event of queue) {
    const text = toJson(event);
    const more = bytesOf(text);

    if (batch.length === batchMost) break;
    if (batch.length > 0 && bytes + more > BATCH_BYTES_MAX) break;
    batch.push(text);
    bytes += more;
    sent = Math.max(sent, event.m);
  }
  return { first: queue[0].m, last: queue[0].m + batch.length - 1, events: batch };
}

async function post($, batch) {
  const body = `{"epoch":"${epoch}","first":${batch.first},"events":[${batch.events.join(',')}]}`;
  const response = await $.http.fetch(relay + '/mod/events', request('POST', body));

  if (response.status === 400 || response.status === 413) setAside(batch);
  else if (!response.ok) throw new Error('status ' + response.status);
  else {
    while (queue.length > 0 && queue[0].m <= batch.last) queue.shift();
    batchMost = BATCH_EVENTS_MAX;
  }
}

/*
 * The relay cannot read something of this batch: what follows goes one by one, and the one that is
 * refused alone is lost, which is said.
 */
function setAside(batch) {
  if (batch.events.length > 1) {
    batchMost = 1;
    return;
  }
  queue[0] = { m: queue[0].m, at: queue[0].at, type: 'lost', was: queue[0].type };
}

async function sendHello($) {
  const info = await $.session.info();
  const body = JSON.stringify({
    version: VERSION,
    epoch,
    claudeSessionId: await $.session.id(),
    transcriptPath: info?.transcriptPath,
  });
  const response = await $.http.fetch(relay + '/mod/hello', request('POST', body));

  if (!response.ok) throw new Error('status ' + response.status);
}

async function send($) {
  let pause = 50;

  for (;;) {
    if (queue.length === 0 && !helloIsDue) {
      await new Promise((resolve) => {
        wake = resolve;
      });
      wake = undefined;
      continue;
    }
    try {
      if (helloIsDue) {
        await sendHello($);
        helloIsDue = false;
      } else {
        await post($, nextBatch());
      }
      pause = 50;
    } catch {
      await $.clock.sleep(pause);
      pause = Math.min(2 * pause, RETRY_MS_MAX);
    }
  }
}

/* Bytes of a UTF-16 unit in UTF-8; a half of a surrogate pair has two of the pair's four. */
function unitBytes(unit) {
  if (unit < 0x80) return 1;
  return unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3;
}

/* The same within a string of JSON. */
function unitJsonBytes(unit) {
  if (unit < 0x20) return unit === 9 || unit === 10 || unit === 13 ? 2 : 6;
  return unit === 0x22 || unit === 0x5c ? 2 : unitBytes(unit);
}

function bytesOf(text) {
  let bytes = 0;

  for (let i = 0; i < text.length; i++) bytes += unitBytes(text.charCodeAt(i));
  return bytes;
}

const newRoom = () => ({ bytes: ROW_BYTES_MAX });

/* As much of a text as there is room for in its row, and how long it was if that is not all. */
function cut(text, room) {
  let end = 0;

  if (typeof text !== 'string') return { text };
  for (; end < text.length; end++) {
    const bytes = unitJsonBytes(text.charCodeAt(end));

    if (bytes > room.bytes) break;
    room.bytes -= bytes;
  }
  if (end === text.length) return { text };
  if (end > 0 && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800) end -= 1;
  room.bytes = 0; // what follows would not look as if it went on from here
  return { text: text.slice(0, end), fullBytes: bytesOf(text) };
}

function countValues(value) {
  if (value === null || typeof value !== 'object') return 1;
  return Object.values(value).reduce((count, member) => count + countValues(member), 1);
}

/*
 * An input that is too long: its long members are left out, with their lengths in their place.
 * Never a cut string, for the cut could go through a value to be masked.
 */
function shortInput(input) {
  const members = Array.isArray(input) ? [] : Object.entries(input);

  return Object.fromEntries(
    members
      .filter(([name]) => name.length <= NAME_CHARS_MAX)
      .slice(0, MEMBERS_MAX)
      .map(([name, value]) => {
        const bytes = bytesOf(JSON.stringify(value) ?? '');
        const isLong = bytes > MEMBER_BYTES_MAX || countValues(value) > MEMBER_VALUES_MAX;

        return [name, isLong ? `(${bytes} bytes)` : value];
      }),
  );
}

function plainInput(input, room) {
  if (input === null || typeof input !== 'object') return { input };
  const bytes = bytesOf(JSON.stringify(input));

  if (bytes <= room.bytes && countValues(input) <= INPUT_VALUES_MAX) {
    room.bytes -= bytes;
    return { input };
  }
  return { input: shortInput(input), fullBytes: bytes };
}

/* A block of a row, without the bytes of pictures and documents, which are no text to show. */
function plainBlock(block, room) {
  if (block === null || typeof block !== 'object') return block;
  switch (block.type) {
    case 'text':
      return { type: 'text', ...cut(block.text, room) };
    case 'thinking': {
      const { text, fullBytes } = cut(block.thinking, room);

      return { type: 'thinking', thinking: text, fullBytes };
    }
    case 'tool_use':
      return { type: 'tool_use', id: block.id, name: block.name, ...plainInput(block.input, room) };
    case 'tool_result':
      return {
        type: 'tool_result',
        tool_use_id: block.tool_use_id,
        is_error: block.is_error === true,
        ...plainContent(block.content, room),
      };
    default:
      return { type: block.type };
  }
}

function plainContent(content, room) {
  if (Array.isArray(content)) return { content: content.map((block) => plainBlock(block, room)) };
  const { text, fullBytes } = cut(content, room);

  return { content: text, fullBytes };
}

function plainMessage(message) {
  return {
    type: message?.type,
    name: message?.name,
    isMeta: message?.isMeta,
    ...plainContent(message?.content, newRoom()),
  };
}

function textsOf(questions) {
  return (questions ?? []).map((asking) => asking.question).join('\n');
}

/*
 * classic.PermissionRequest has no tool_use_id, but the tool.call that came just before it has.
 * The two spell the same questions with their keys in another order, so the texts decide; the
 * newest open one wins.
 */
function idOfQuestion(questions) {
  const texts = textsOf(questions);

  return [...asked].reverse().find(([, known]) => known === texts)?.[0];
}

/* Asks until there is an answer. A relay that is away is not a lost question: same id again. */
async function awaitAnswer($, id) {
  for (;;) {
    try {
      const url = relay + '/mod/answers/' + encodeURIComponent(id);
      const response = await $.http.fetch(url, request('GET'));

      if (response.status === 200) return JSON.parse(response.text);
      if (response.status === 410) return null;
      if (response.status === 204) continue;
    } catch {
      /* again, below */
    }
    if (!asked.has(id)) return null;
    await $.clock.sleep(200);
  }
}

function answersByQuestion(questions, answers) {
  return Object.fromEntries(questions.map((asking, i) => [asking.question, answers[i] ?? '']));
}

async function onSessionStart($, e, next) {
  relay = (await $.env.get('KNDL_URL')) ?? '';
  token = (await $.env.get('KNDL_MOD_TOKEN')) ?? '';
  if (!senderRuns) {
    senderRuns = true;
    void send($);
  }
  return next(e);
}

/* What the relay does not take in time the Runner reads from the transcript. */
async function sendRest($) {
  const end = Date.now() + LAST_WORD_MS;

  while (queue.length > 0 && Date.now() < end) {
    try {
      await post($, nextBatch());
    } catch {
      await $.clock.sleep(LAST_WORD_PAUSE_MS);
    }
  }
}

/* The end of the conversation is waited for, so here alone a fetch inside the hook is right. */
async function onSessionEnd($, e, next) {
  emit('session.end', { reason: e.reason, sessionId: e.sessionId });
  await sendRest($);
  /* After /clear the process goes on under another id, and no session.start comes. */
  helloIsDue = true;
  wake?.();
  return next(e);
}

async function onTurnStart($, e, next) {
  emit('turn.start', {
    turnId: e.turnId,
    agentId: e.agentId,
    text: e.agentId === undefined ? cut(e.text, newRoom()).text : undefined,
  });
  return next(e);
}

async function onTurnComplete($, e, next) {
  const thread = e.agentId ?? '';

  emit('turn.complete', {
    turnId: e.turnId,
    agentId: e.agentId,
    reason: e.reason,
    durationMs: e.durationMs,
    usage: e.usage,
    error: failures.get(thread),
  });
  failures.delete(thread);
  return next(e);
}

async function* onTurnStep($, e, next) {
  const chunks = next(e);
  const begun = new Set();
  let retry = retries.get(e.agentId);

  for (;;) {
    const { done, value } = await chunks.next();

    if (done) return value;
    const from = { turnId: e.turnId, agentId: e.agentId, step: e.index, index: value.index };

    if (retry !== retries.get(e.agentId)) begun.clear();
    retry = retries.get(e.agentId);
    if (!begun.has(value.index)) from.isFirst = true;
    begun.add(value.index);
    if (value.kind === 'text' || value.kind === 'thinking')
      emitDelta({ ...from, kind: value.kind, text: value.text });
    else if (value.kind === 'tool')
      emitDelta({ ...from, kind: 'tool', id: value.id, name: value.name });
    else if (value.kind === 'input') emitDelta({ ...from, kind: 'input', text: value.json });
    yield value;
  }
}

async function onSessionAppend($, e, next) {
  const result = await next(e);

  if (e.door === 'compaction' && e.message?.type === 'user') summaryCame = true;
  if (e.door === 'notice' && e.message?.name === 'api_error')
    retries.set(e.agentId, (retries.get(e.agentId) ?? 0) + 1);
  emit('session.append', {
    door: e.door,
    origin: e.origin,
    uuid: e.uuid,
    agentId: e.agentId,
    message: plainMessage(result?.message ?? e.message),
  });
  return result;
}

async function onToolCall($, e, next) {
  if (e.tool !== 'AskUserQuestion') return next(e);

  asked.set(e.tool_use_id, textsOf(e.questions));
  emit('question', { id: e.tool_use_id, agentId: e.agentId, questions: e.questions });
  let result;
  try {
    result = await next(e);
    return result;
  } finally {
    asked.delete(e.tool_use_id);
    emit('question.end', {
      id: e.tool_use_id,
      agentId: e.agentId,
      answers: result?.result?.answers,
      isError: result === undefined || result.isError === true || result.deny !== undefined,
    });
  }
}

async function onAgentSpawn($, e, next) {
  const result = await next(e);

  if (result?.agentId !== undefined)
    emit('agent.spawn', {
      agentId: result.agentId,
      parentAgentId: e.parentAgentId,
      toolUseId: e.tool_use_id,
      subagentType: e.subagentType,
      description: cut(e.description, newRoom()).text,
    });
  return result;
}

async function onAgentReport($, e, next) {
  emit('agent.report', { agentId: e.agentId, status: e.status });
  return next(e);
}

async function onStopFailure($, e, next) {
  failures.set(e.agent_id ?? '', e.error);
  return next(e);
}

async function onPostCompact($, e, next) {
  const { text, fullBytes } = cut(e.compact_summary, newRoom());

  if (!summaryCame) emit('compaction', { agentId: e.agent_id, summary: text, fullBytes });
  summaryCame = false;
  return next(e);
}

async function onPermissionRequest($, e, next) {
  const questions = e.tool_input?.questions;
  const id = e.tool_name === 'AskUserQuestion' ? idOfQuestion(questions) : undefined;

  if (id === undefined) return next(e);
  const answer = await awaitAnswer($, id);

  if (answer === null) return next(e);
  if (answer.deny !== undefined)
    return { decision: { behavior: 'deny', message: String(answer.deny) } };
  return {
    decision: {
      behavior: 'allow',
      updatedInput: { ...e.tool_input, answers: answersByQuestion(questions, answer.answers) },
    },
  };
}

export const register = (on) => {
  on('session.start', onSessionStart);
  on('session.end', onSessionEnd);
  on('session.append', onSessionAppend);
  on('turn.start', onTurnStart);
  on('turn.step', onTurnStep);
  on('turn.complete', onTurnComplete);
  on('tool.call', onToolCall);
  on('agent.spawn', onAgentSpawn);
  on('agent.report', onAgentReport);
  on('classic.StopFailure', onStopFailure);
  on('classic.PostCompact', onPostCompact);
  on('classic.PermissionRequest', onPermissionRequest);
};
