// The Hub's own shares, from the timestamps that are always in the logs (one host's monotonic
// clock): a release build, 200 prompts, one viewer. Prints what it measured; passes no judgement.

import fs from 'node:fs';
import path from 'node:path';

import { Kndl, lines } from '../harness/kndl.mjs';
import { Viewer } from '../harness/socket.mjs';
import { until } from '../harness/until.mjs';

const RUNS = 200;
const STARTS = 10;
const IDLE_MS = 60 * 1000;
const SESSIONS = 'kndl.sessions.v1.SessionsService';

function quantile(sorted, q) {
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}

function print(name, valuesMs) {
  const sorted = valuesMs.filter(Number.isFinite).sort((a, b) => a - b);
  if (sorted.length === 0) return console.log(`${name}: nothing was measured`);
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((q) => quantile(sorted, q).toFixed(1));
  return console.log(`${name}: p50 ${p50} ms, p95 ${p95} ms, p99 ${p99} ms (${sorted.length})`);
}

function readLog(kndl, name) {
  return fs.readFileSync(path.join(kndl.dir, 'log', `${name}.log`), 'utf8').split('\n')
    .filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
}

const where = (log, message, more = {}) => log.filter((line) => line.message === message
  && Object.entries(more).every(([name, value]) => line[name] === value));

// Sends prompts one by one; each has to be answered before the next.
async function prompts(kndl, viewer, session) {
  for (let n = 0; n < RUNS; n++) {
    const ended = viewer.kinds.filter((kind) => kind === 'turnEnded').length;
    const sent = await kndl.call(`${SESSIONS}/SendPrompt`,
      { requestId: `bench-${n}`, sessionId: session, text: `say bench-${n}` });
    if (sent.status !== 200) throw new Error(JSON.stringify(sent));
    await until('the Turn ended', () =>
      viewer.kinds.filter((kind) => kind === 'turnEnded').length > ended);
  }
}

function printPrompts(kndl, session) {
  const gateway = readLog(kndl, 'api-gateway');
  const calls = new Map(where(gateway, 'call', { method: 'SendPrompt', code: 'ok' })
    .map((line) => [line.trace, line]));
  const orders = new Map(where(readLog(kndl, 'runner-agent'), 'relay gave an order', { session })
    .map((line) => [line.id, line.at_us]));
  const queued = where(readLog(kndl, 'sessions'), 'prompt queued', { session });

  print('prompt accepted by the Hub', [...calls.values()].map((line) => line.took_us / 1000));
  print('prompt to delivery, the Hub\'s share', queued.map((line) =>
    (orders.get(line.prompt) - calls.get(line.trace)?.received_us) / 1000));
}

function printEvents(kndl, session) {
  print('Event to browser, the Hub\'s share', where(readLog(kndl, 'api-gateway'), 'events sent', { session })
    .map((line) => (line.sent_us - line.relay_at_us) / 1000));
}

// Each step of a start, as the Runner reported them.
async function starts(kndl) {
  const steps = new Map();
  const state = async (id) => (await kndl.call(`${SESSIONS}/GetSession`, { sessionId: id })).body.session;
  const add = (kind, list) => {
    for (const step of list) {
      const name = `${kind}, ${step.name}`;
      steps.set(name, [...(steps.get(name) ?? []), Number(step.tookMs ?? 0)]);
    }
  };
  for (let n = 0; n < STARTS; n++) {
    const id = lines(await kndl.ok('new', 'demo/hello', '--prompt', 'say start', '--wait', '--json'))[0].id;
    add('Session start', (await state(id)).steps);
    await kndl.ok('sleep', id);
    await until('it is Asleep', async () => (await state(id)).state === 'STATE_ASLEEP');
    await kndl.ok('wake', id);
    await until('it is Active', async () => (await state(id)).state === 'STATE_ACTIVE');
    add('wake', (await state(id)).steps);
    await kndl.ok('sleep', id);
    await until('it is Asleep', async () => (await state(id)).state === 'STATE_ASLEEP');
  }
  for (const [name, values] of steps) print(name, values);
}

async function printMemory(kndl) {
  const began = Date.now();
  await until('a minute has passed', () => Date.now() - began > IDLE_MS, 2 * IDLE_MS);
  let sum = 0;
  for (const [name, { pid }] of await kndl.programs()) {
    if (!fs.existsSync(path.join(kndl.facts.build, 'bin', name))) continue;
    const rollup = fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    const mib = Number(/^Pss:\s+(\d+)/m.exec(rollup)[1]) / 1024;
    sum += mib;
    console.log(`Pss of ${name}, 60 s after its start: ${mib.toFixed(1)} MiB`);
  }
  console.log(`Pss of all services together: ${sum.toFixed(1)} MiB`);
}

const kndl = await Kndl.start('bench', { canaries: false });
try {
  await printMemory(kndl);
  const session = lines(await kndl.ok('new', 'demo/hello', '--prompt', 'say begin', '--wait', '--json'))[0].id;
  const viewer = new Viewer(kndl, await kndl.signIn(), session);
  await until('the viewer has a view', () => viewer.view);
  await prompts(kndl, viewer, session);
  viewer.close();
  printPrompts(kndl, session);
  printEvents(kndl, session);
  await starts(kndl);
} finally {
  await kndl.stop();
}
