// The permission matrix where Runners and Sandboxes ask: each method of theirs as its own Runner, as
// another one and for what is not there; the relay's paths and the mod tokens with what is real. AC-06,
// AC-08, RE-02; faults 26, 28 and 36. People are matrix's.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { create, fromBinary, toBinary } from '@bufbuild/protobuf';

import { absent, call, Cast, made, RUNNERS, SESSIONS } from '../harness/cast.mjs';
import { registry } from '../harness/contract.mjs';
import { Kndl } from '../harness/kndl.mjs';
import { newNkey, Wire } from '../harness/nats-wire.mjs';
import { inside } from '../harness/sandbox.mjs';
import { isOfPeople, isOfRunners, readTable } from '../harness/table.mjs';
import { until } from '../harness/until.mjs';
import { comparable, Visitor } from '../harness/visitor.mjs';

const RUN = 1n;

let kndl;
let cast;
let sessions;
let own; // {id, wire}: this machine's Runner, beside itself
let other; // a Runner that has no Session

async function openWire(token) {
  const { userPublic, privateKey } = newNkey();
  const answer = await kndl.hub('/runner/credential', {
    method: 'POST',
    body: JSON.stringify({ userPublic, protocol: 1, version: 'test' }),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
  });
  assert.equal(answer.status, 200, answer.text);
  const { jwt, runnerId } = JSON.parse(answer.text);
  return { id: runnerId, wire: await Wire.open(kndl.facts.nats_port, jwt, privateKey) };
}

before(async () => {
  kndl = await Kndl.start('matrix-runner');
  cast = new Cast(kndl);
  await cast.enter();
  ({ sessions } = cast);
  for (const name of ['hello', 'notes', 'lost']) await cast.is('STATE_ACTIVE', name);
  own = await openWire(cast.runnerToken);
  assert.equal(own.id, cast.runnerId);
  const { token } = await call(cast.people.ada.web, `${RUNNERS}/RegisterRunner`, made({ name: 'other' }));
  other = await openWire(token);
});

after(async () => {
  own?.wire.close();
  other?.wire.close();
  await kndl?.stop();
});

const UUID = '01234567-89ab-4cde-8f01-23456789abcd';
const event = () => create(registry.getMessage('kndl.event.v1.Event'),
  { kind: { case: 'text', value: create(registry.getMessage('kndl.event.v1.Text'), { text: 'x' }) } });

// What each method is asked with besides the Session and its run, so that nothing else is wrong.
const fields = {
  ReportStep: () => ({ step: create(registry.getMessage('kndl.sessions.v1.StartStep'), { name: 'x' }) }),
  ReportRunning: () => ({ claudeSessionId: UUID }),
  ReportEnded: () => ({ cause: 1 }),
  ReportPrompt: () => ({ promptId: 'x', outcome: 1 }),
  ReportCommand: () => ({ commandId: 'x', done: true }),
  ReportWaiting: () => ({}),
  IssueModToken: () => ({}),
  MintGitToken: () => ({ use: 1 }),
  FetchSetupToken: () => ({}),
  FetchVariables: () => ({}),
  PutSessionToken: () => ({ token: 'x'.repeat(43) }),
  Open: () => ({}),
};

// An answer of the bus: {code, why, body}; code is 0 if it was done.
async function ask(runner, subject, type, message) {
  const body = Buffer.from(toBinary(type, create(type, message)));
  const told = await runner.wire.ask(subject, `_INBOX.runner.${runner.id}.x`, body);
  return {
    code: Number(/Nats-Service-Error-Code: ?(\d+)/.exec(told)?.[1] ?? 0),
    why: /Nats-Service-Error: ?(.*)/.exec(told)?.[1] ?? '',
    body: Buffer.from(runner.wire.body, 'latin1'),
  };
}

const methodOf = (row) => registry.getService(row.section).methods.find(({ name }) => name === row.name);
const subjectOf = (row, runner) => `kndl.runner.${runner}.rpc.${row.section.replace('kndl.', '')}.${row.name}`;

function askAbout(runner, row, sessionId, run = RUN) {
  assert.ok(row.name in fields, `${row.name} has no row in this test: say what it is asked with`);
  const type = methodOf(row).input;
  const message = { sessionId, ...fields[row.name]() };
  if (type.field.run) message.run = run;
  return ask(runner, subjectOf(row, runner.id), type, message);
}

const rows = () => readTable().filter((row) => isOfRunners(row) && !['Attend', 'Put'].includes(row.name));

test('faults 26: another Runner\'s Session is, word for word, one that is not there', async () => {
  for (const row of rows()) {
    const id = sessions.hello;
    const [foreign, nowhere] = [await askAbout(other, row, id), await askAbout(other, row, absent(id))];
    assert.notEqual(foreign.code, 0, row.name);
    assert.deepEqual({ ...foreign, why: foreign.why.replaceAll(id, 'X') },
      { ...nowhere, why: nowhere.why.replaceAll(absent(id), 'X') }, row.name);
  }
});

test('AC-08: a Runner asks under its own name alone', async () => {
  for (const row of rows()) {
    assert.equal(await other.wire.mayPublish(subjectOf(row, own.id)), false, row.name);
    assert.equal(await other.wire.mayPublish(subjectOf(row, other.id)), true, row.name);
  }
  assert.equal(await other.wire.mayPublish(`kndl.raw.x.${own.id}.${sessions.hello}`), false);
});

test('faults 36: a run that is not there, or is past it, gets nothing', async () => {
  for (const row of rows().filter(({ section, name }) => methodOf({ section, name }).input.field.run)) {
    const wrong = await askAbout(own, row, sessions.hello, 99n);
    assert.notEqual(wrong.code, 0, row.name);
  }
  // The setup token is a starting run's alone.
  const fetch = rows().find(({ name }) => name === 'FetchSetupToken');
  assert.notEqual((await askAbout(own, fetch, sessions.hello)).code, 0);
});

test('faults 28: an id that is no id reaches nobody, in whatever field', async () => {
  const ids = ['', '.', '*', '>', 'a.b', `${sessions.hello}.x`, 'a b', 'a\r\nb', '../x', '\xff', 'a'.repeat(64 * 1024)];
  const { grace, ada } = cast.people;
  for (const id of ids) {
    const what = JSON.stringify(id.slice(0, 20));
    for (const row of rows()) assert.notEqual((await askAbout(own, row, id)).code, 0, `${row.name} ${what}`);
    for (const row of readTable().filter(isOfPeople)) {
      const { input } = methodOf(row);
      for (const field of ['sessionId', 'sharedId', 'runnerId', 'personId', 'inviteId', 'signInId', 'promptId', 'questionId'])
        if (input.field[field] && !(field === 'sharedId' && id === '')) {
          const message = made({ ...(input.field.sessionId ? { sessionId: sessions.hello } : {}), [field]: id });
          const visitor = row.cells.Owner === 'A' && row.cells.Creator === 'R' ? ada : grace;
          const answer = await until('it is not too fast', async () => {
            const told = await visitor.web.call(`${row.section}/${row.name}`, message);
            return told.status !== 429 && told;
          });
          assert.ok([400, 404, 409].includes(answer.status) || ['RevokeInvite', 'EndSignIn'].includes(row.name),
            `${row.name} ${field} ${what}: ${answer.status} ${JSON.stringify(answer.body)}`);
        }
    }
  }
  // What is no UTF-8 is no text: JSON cannot say it, protobuf can.
  const raw = await grace.web.post(`/${SESSIONS}/GetSession`, Buffer.from([0x0a, 3, 0x61, 0xff, 0x62]).toString('latin1'),
    { 'content-type': 'application/proto' });
  assert.equal(raw.status, 400);
});

// ---- in the Sandbox ----

const relayRows = () => readTable().filter(({ section, name }) => section === 'Paths' && name.includes(' /mod/'));

// curl's answer without the moment.
async function askRelay(name, { method, where, token }) {
  const { KNDL_URL } = await cast.environmentOf(name);
  const auth = token ? ['-H', `Authorization: Bearer ${token}`] : [];
  const text = await inside(kndl, sessions[name], 'curl', '-sSi', '-X', method, '-d', '', ...auth, `${KNDL_URL}${where}`);
  return { status: Number(/^HTTP\/1.1 (\d+)/.exec(text)[1]), text: text.replace(/^Date: .*\r\n/im, '') };
}

test('RE-02, faults 26, 36: a relay takes its own Session\'s token and no other, on each of its paths', async () => {
  const { grace } = cast.people;
  const tokens = {
    none: undefined,
    'another Session\'s': (await cast.environmentOf('notes')).KNDL_MOD_TOKEN,
    'a RUNNER_TOKEN': cast.runnerToken,
    'the Creator\'s CLI token': grace.cli.token,
    'the Creator\'s cookie': grace.web.token,
  };
  assert.ok(relayRows().length > 4);
  const answers = new Set();
  for (const row of relayRows()) {
    const [method, path] = row.name.split(' ');
    for (const [name, token] of Object.entries(tokens)) {
      const answer = await askRelay('hello', { method, where: path.replace('*', 'x'), token });
      assert.equal(answer.status, 401, `${row.name} with ${name}`);
      answers.add(answer.text);
    }
    // The Hub has no such path at all.
    const atHub = await kndl.hub(path.replace('*', 'x'), { method: 'POST', body: '{}' });
    assert.equal(atHub.status, 404);
  }
  assert.equal(answers.size, 1);
  const token = (await cast.environmentOf('hello')).KNDL_MOD_TOKEN;
  assert.equal((await askRelay('hello', { method: 'POST', where: '/mod/results', token })).status, 400);
  assert.equal((await askRelay('hello', { method: 'POST', where: '/mod/nothing', token })).status, 404);
});

test('faults 26: what is a Runner\'s on the Hub is nobody else\'s', async () => {
  const { grace, ada } = cast.people;
  const session = { authorization: `Bearer ${(await cast.environmentOf('hello')).KNDL_MOD_TOKEN}` };
  const answers = new Set();
  const mine = readTable().filter(({ section, cells }) => section === 'Paths' && cells.Runner === 'A' && cells.Creator === 'R');
  assert.ok(mine.length > 0);
  for (const row of mine) {
    const [method, path] = row.name.split(' ');
    const callers = [{}, session, ...[grace, ada].flatMap(({ web, cli }) => [
      { cookie: web.cookie, origin: kndl.facts.hub_url }, { authorization: `Bearer ${cli.token}` }])];
    for (const headers of callers) {
      const answer = await new Visitor(kndl).ask(path.replace('*', 'x'), { method, headers: { 'content-type': 'application/json', ...headers },
        ...(method === 'POST' ? { body: JSON.stringify({ userPublic: newNkey().userPublic, protocol: 1, version: 'test' }) } : {}) });
      assert.equal(answer.status, 401, row.name);
      answers.add(comparable(answer));
    }
  }
  assert.equal(answers.size, 1);
});

// ---- mod tokens ----

const fromRunner = (name) => rows().find((row) => row.name === name);

async function take(name, session) {
  const told = await askAbout(own, fromRunner(name), sessions[session]);
  assert.equal(told.code, 0, told.why);
  return fromBinary(methodOf(fromRunner(name)).output, told.body);
}

// One Event as the run's n-th: {code, expected}, the n that is waited for after it.
async function put(runner, instanceId, session, token, n) {
  const { input, output } = registry.getService('kndl.redactor.v1.RedactorRawService').methods[0];
  const { code, body } = await ask(runner, `kndl.raw.${instanceId}.${runner.id}.${sessions[session]}`, input,
    { run: RUN, firstN: n, events: [event()], modToken: Buffer.from(token) });
  return { code, expected: code === 0 ? fromBinary(output, body).expectedN : undefined };
}

// Does the token append? What nobody's token is told is which n is waited for.
async function appends(instanceId, session, token) {
  const { expected } = await put(own, instanceId, session, 'nobody\'s', 1n);
  return (await put(own, instanceId, session, token, expected)).expected > expected;
}

test('AC-08, faults 36: a mod token appends to its own run alone, opens nothing else, and dies when another is issued', async () => {
  const { instanceId } = await take('Open', 'notes');
  await take('Open', 'lost');
  const { token } = await take('IssueModToken', 'notes');
  const { token: foreign } = await take('IssueModToken', 'lost');
  assert.equal(await appends(instanceId, 'notes', foreign), false);
  assert.equal(await appends(instanceId, 'lost', token), false);
  assert.equal(await appends(instanceId, 'notes', token), true);
  assert.notEqual((await put(other, instanceId, 'notes', token, 1n)).code, 0);

  const answers = new Set();
  const visitor = new Visitor(kndl);
  await Promise.all(readTable().filter(isOfPeople).map(async (row) => {
    const answer = await visitor.ask(`/${row.section}/${row.name}`, { method: 'POST', body: JSON.stringify({ sessionId: sessions.notes }),
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` } });
    assert.equal(answer.status, 401, row.name);
    answers.add(comparable(answer));
  }));
  assert.equal(answers.size, 1);

  await kndl.kill('runner-agent'); // which asks for another one for each run that goes on
  for (const [name, older] of [['notes', token], ['lost', foreign]])
    await until('the older one is refused', async () => !(await appends(instanceId, name, older)));
});

test('faults 36: after a sleep the Session token and the mod token are nobody\'s', async () => {
  const { lost } = cast.people;
  const { instanceId } = await take('Open', 'lost');
  const { token } = await take('IssueModToken', 'lost');
  assert.equal(await appends(instanceId, 'lost', token), true);
  await call(lost.web, `${SESSIONS}/SleepSession`, made({ sessionId: sessions.lost }));
  await cast.is('STATE_ASLEEP', 'lost');
  const after_ = await put(own, instanceId, 'lost', token, 1n);
  assert.ok(after_.code !== 0 || !(await appends(instanceId, 'lost', token)));

  const older = (await cast.environmentOf('hello')).KNDL_MOD_TOKEN;
  const { grace } = cast.people;
  await until('it may sleep', async () => (await grace.web.call(`${SESSIONS}/SleepSession`, made({ sessionId: sessions.hello }))).status === 200);
  await cast.is('STATE_ASLEEP', 'hello');
  for (const name of ['Open', 'IssueModToken', 'FetchVariables', 'FetchSetupToken', 'MintGitToken'])
    assert.notEqual((await askAbout(own, fromRunner(name), sessions.hello)).code, 0, name);
  await call(grace.web, `${SESSIONS}/WakeSession`, made({ sessionId: sessions.hello }));
  await cast.is('STATE_ACTIVE', 'hello');
  assert.notEqual((await cast.environmentOf('hello')).KNDL_MOD_TOKEN, older);
  assert.equal((await askRelay('hello', { method: 'POST', where: '/mod/results', token: older })).status, 401);
});
