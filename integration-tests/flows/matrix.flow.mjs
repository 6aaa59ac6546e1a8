// The permission matrix: every kind of caller on every method and every message of the socket, on what is
// their own, on what is another's and on what is not there. AC-03, AC-06, AC-08; faults 26, 27 and 36.
// The Runner's side is matrix-runner. Who is let through sends a request that is refused as malformed (it
// has no request_id), so that nothing changes; who is not must never get that far.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { absent, call, Cast, HELLO, made, NOTES, PEOPLE, RUNNERS, SECRETS, SEEN_BY, SESSIONS } from '../harness/cast.mjs';
import { registry } from '../harness/contract.mjs';
import { Kndl } from '../harness/kndl.mjs';
import { Socket } from '../harness/socket.mjs';
import { isOfPeople, isOfRunners, readTable } from '../harness/table.mjs';
import { until } from '../harness/until.mjs';
import { comparable, Visitor } from '../harness/visitor.mjs';

const TTL_MS = 1500;
const NO_REPO = '9999'; // as long as those: a length is told, too

let kndl;
let cast;
let people;
let sessions;
let runnerId;
let shared; // a Shared variable of NOTES
let strangers;

before(async () => {
  kndl = await Kndl.start('matrix', { env: { KNDL_DEV_REPO_ACCESS_TTL_MS: String(TTL_MS) } });
  cast = new Cast(kndl);
  await cast.enter();
  ({ people, sessions, runnerId } = cast);
  shared = (await call(people.grace.web, `${SECRETS}/SetSharedVariable`,
    made({ variable: { name: 'MATRIX', value: 'x' } }))).variable.sharedId;
  await call(people.grace.web, `${SECRETS}/LinkSharedVariable`, made({ sharedId: shared, repoId: NOTES, linked: true }));
  await cast.is('STATE_ACTIVE', 'hello');
  strangers = await cast.makeStrangers();
});

after(async () => {
  await kndl?.stop();
});

// ---- what is asked ----

// What of its own each row names whose object is no Session, Repo or Shared variable. The second, where
// there is one, is the same of an id that is nobody's.
const own = {
  ListSessions: () => [{}],
  Heads: () => [{ sessionIds: [sessions.hello] }, { sessionIds: [absent(sessions.hello)] }],
  ListRunners: () => [{}],
  RegisterRunner: () => [{ name: 'x' }],
  RenameRunner: () => [{ runnerId, name: 'x' }, { runnerId: absent(runnerId), name: 'x' }],
  RotateRunnerToken: () => [{ runnerId }, { runnerId: absent(runnerId) }],
  RemoveRunner: () => [{ runnerId }, { runnerId: absent(runnerId) }],
  SetSetupToken: () => [{ token: 'x' }],
  RemoveSetupToken: () => [{}],
  GetSetupToken: () => [{}],
  ListSharedVariables: () => [{}],
  WhoAmI: () => [{}],
  ListRepos: () => [{}],
  ListSignIns: () => [{}],
  EndSignIn: () => [{ signInId: absent(runnerId) }],
  EndAllSignIns: () => [{}],
  FindDevice: () => [{ userCode: 'AAAA-AAAA' }],
  DecideDevice: () => [{ userCode: 'AAAA-AAAA' }],
  BeginConfirmation: () => [{ purpose: 'PURPOSE_UNSPECIFIED' }],
  TakeConfirmation: () => [{ deviceCode: 'x' }],
  ListMembers: () => [{}],
  ListInvites: () => [{}],
  InviteMember: () => [{ login: 'guest' }],
  RevokeInvite: () => [{ inviteId: 'x' }, { inviteId: absent(runnerId) }],
  RemoveMember: () => [{ personId: people.linus.id }, { personId: absent(people.linus.id) }],
  HandOverOwnership: () => [{ personId: people.linus.id }, { personId: absent(people.linus.id) }],
  SignOut: null, // it would end the caller: it has a test of its own
};

// [{message, nowhere, id, repo, creator}]: what a row is tried on, and the same of what is not there.
function objectsOf(row) {
  if (row.about === 'a Session')
    return Object.entries(sessions).map(([name, id]) => ({
      message: { sessionId: id }, nowhere: { sessionId: absent(id) }, ids: [id, absent(id)],
      repo: name === 'notes' ? NOTES : HELLO, creator: name === 'lost' ? 'lost' : 'grace',
    }));
  if (row.about === 'a Repo')
    return [HELLO, NOTES].map((repoId) => ({
      message: { repoId }, nowhere: { repoId: NO_REPO }, ids: [repoId, NO_REPO], repo: repoId,
    }));
  if (row.about === 'a Shared variable')
    return [{ message: { sharedId: shared }, nowhere: { sharedId: absent(shared) }, ids: [shared, absent(shared)], repo: NOTES }];
  assert.ok(row.name in own, `${row.name} has no row in this test: say what it is asked with`);
  const [message, nowhere] = own[row.name]?.() ?? [];
  return message ? [{ message, nowhere, ids: [] }] : [];
}

// The cell of a person and an object.
function cellOf(row, person, object, isCli) {
  if (isCli && row.cells['CLI token'] === 'R') return 'browser';
  if (isCli && row.cells['CLI token'] === 'A') return 'A'; // and no browser
  const sees = object.repo ? SEEN_BY[object.repo].includes(person.login) : !['stranger', 'lost'].includes(person.login);
  if (!sees) return row.cells['Member without Repo access'];
  if (person.login === 'ada') return row.cells.Owner;
  return row.cells[object.creator === person.login ? 'Creator' : 'other Participant'];
}

// What a command sends too fast is asked again.
async function ask(visitor, row, message) {
  let answer;
  await until('it is not too fast', async () => {
    answer = await visitor.post(`/${row.section}/${row.name}`, message);
    return answer.status !== 429;
  });
  return answer;
}

const without = (answer, ids) => ids.reduce((text, id) => text.replaceAll(id, 'X'), comparable(answer));
const isReading = ({ name }) => /^(List|Get|Open|Heads|WhoAmI|TestRedaction)/.test(name); // changes nothing

function check(row, cell, answer, what) {
  const told = `${what} is ${cell}: ${answer.status} ${answer.text}`;
  const code = answer.status === 200 ? '' : JSON.parse(answer.text).code;
  if (cell === 'browser') assert.match(answer.text, /do this in the browser/, told);
  else if (cell === 'R') assert.equal(answer.status, 403, told);
  else if (cell === 'N') assert.equal(answer.status, 404, told);
  else if (cell === 'absent') assert.equal(answer.status, 200, told);
  else if (row.name === 'FindDevice') assert.equal(code, 'not_found', told); // no machine waits
  else if (row.name === 'TakeConfirmation') assert.match(answer.text, /refused in the browser/, told); // likewise
  else if (isReading(row)) assert.equal(answer.status, 200, told);
  else assert.equal(code, 'invalid_argument', told); // it has no request_id, and nothing else is wrong
}

// ---- the tests ----

test('each method of the contract is in the table, and the table has no other', () => {
  const inTable = new Set(readTable().filter((row) => isOfPeople(row) || isOfRunners(row))
    .map(({ section, name }) => `${section}/${name}`));
  const inContract = new Set();
  for (const type of registry)
    if (type.kind === 'service' && !/Internal|runner\.v1/.test(type.typeName))
      for (const { name } of type.methods) inContract.add(`${type.typeName}/${name}`);
  assert.deepEqual([...inTable].sort(), [...inContract].sort());
});

test('AC-03, faults 26, 36: what is nobody\'s credential gets one same answer from every method', async () => {
  const rows = readTable().filter(isOfPeople);
  const answers = new Set();
  // At once, and each from its own address: who tries tokens waits for each answer.
  await Promise.all(Object.entries(strangers).map(async ([name, headers]) => {
    const visitor = new Visitor(kndl);
    await Promise.all(rows.map(async (row) => {
      const [{ message } = { message: {} }] = objectsOf(row);
      const answer = await visitor.ask(`/${row.section}/${row.name}`, { method: 'POST',
        body: JSON.stringify(message), headers: { 'content-type': 'application/json', ...headers } });
      assert.equal(answer.status, 401, `${name} ${row.name}: ${answer.text}`);
      answers.add(comparable(answer));
    }));
    const upgrade = await visitor.ask('/socket', { headers: { connection: 'Upgrade', upgrade: 'websocket',
      'sec-websocket-version': '13', 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==', ...headers } });
    assert.equal(upgrade.status, 401, `${name} on the socket`);
  }));
  assert.equal(answers.size, 1);
});

test('AC-07: who loses access to a Repo is out of what they started there, too', async () => {
  const seen = () => ask(people.lost.web, { section: SESSIONS, name: 'GetSession' }, { sessionId: sessions.lost });
  assert.equal((await seen()).status, 200);
  await kndl.github.patch({ repos: { 3001: { collaborators: { lost: null } } } });
  await until('lost is out', async () => (await seen()).status === 404);
});

for (const login of ['ada', 'grace', 'linus', 'stranger', 'lost'])
  for (const client of ['web', 'cli'])
    test(`AC-06, AC-08, faults 26: ${login} by ${client} gets what the table says on every row, own, foreign and nowhere`, async () => {
      const person = people[login];
      for (const row of readTable().filter(isOfPeople))
        for (const object of objectsOf(row)) {
          const cell = cellOf(row, person, object, client === 'cli');
          const answer = await ask(person[client], row, object.message);
          check(row, cell, answer, `${row.name} of ${JSON.stringify(object.message)}`);
          if (!object.nowhere) continue;
          const nowhere = await ask(person[client], row, object.nowhere);
          if (cell === 'N' || cell === 'absent')
            assert.equal(without(nowhere, object.ids), without(answer, object.ids), row.name);
          else if (cell === 'R' && object.repo) assert.equal(nowhere.status, 404, row.name);
          else if (cell === 'R') assert.equal(comparable(nowhere), comparable(answer), row.name);
        }
    });

test('a list leaves out what its reader does not see', async () => {
  const lists = {
    grace: [['hello', 'lost', 'notes'], [HELLO, NOTES], 1], linus: [['hello', 'lost', 'notes'], [HELLO, NOTES], 1],
    ada: [['hello', 'lost'], [HELLO], 0], stranger: [[], [], 0], lost: [[], [], 0],
  };
  for (const [login, [names, repos, count]] of Object.entries(lists)) {
    const { web } = people[login];
    const listed = (await call(web, `${SESSIONS}/ListSessions`, {})).sessions ?? [];
    assert.deepEqual(listed.map(({ id }) => id).sort(), names.map((name) => sessions[name]).sort(), login);
    const ids = [...Object.values(sessions), absent(sessions.hello)];
    const { heads = [] } = await call(web, `${SESSIONS}/Heads`, { sessionIds: ids });
    assert.deepEqual(heads.map(({ sessionId }) => sessionId).sort(), names.map((name) => sessions[name]).sort(), login);
    const seen = (await call(web, `${PEOPLE}/ListRepos`, {})).repos ?? [];
    assert.deepEqual(seen.map(({ id }) => id).filter((id) => repos.includes(id)).sort(), repos, login);
    assert.ok(!seen.some(({ id }) => [HELLO, NOTES].includes(id) && !repos.includes(id)), login);
    const shared = (await call(web, `${SECRETS}/ListSharedVariables`, {})).variables ?? [];
    assert.equal(shared.filter(({ name }) => name.startsWith('MATRIX')).length, count, login);
  }
});

test('a Shared variable is changed by who sees all of its Repos', async () => {
  const variable = made({ variable: { name: 'MATRIX_BOTH', value: 'x' } });
  const id = (await call(people.grace.web, `${SECRETS}/SetSharedVariable`, variable)).variable.sharedId;
  assert.equal((await people.linus.web.call(`${SECRETS}/RemoveSharedVariable`, { sharedId: id })).status, 404); // its maker's
  for (const repoId of [HELLO, NOTES])
    await call(people.grace.web, `${SECRETS}/LinkSharedVariable`, made({ sharedId: id, repoId, linked: true }));
  const answers = await Promise.all(['ada', 'linus', 'stranger'].map((login) =>
    people[login].web.call(`${SECRETS}/RemoveSharedVariable`, { sharedId: id })));
  assert.deepEqual(answers.map(({ status }) => status), [403, 400, 404]);
  const beyond = await people.grace.web.call(`${SECRETS}/LinkSharedVariable`, made({ sharedId: id, repoId: NO_REPO, linked: true }));
  assert.equal(beyond.status, 404);
});

test('one signs out oneself, and ends no other\'s sign-in', async () => {
  const passing = await cast.signIn('linus');
  const { signIns } = await call(people.grace.web, `${PEOPLE}/ListSignIns`, {});
  const [foreign, nowhere] = await Promise.all([signIns[0].id, absent(signIns[0].id)].map((signInId) =>
    passing.web.post(`/${PEOPLE}/EndSignIn`, made({ signInId }))));
  assert.equal(comparable(foreign), comparable(nowhere));
  assert.equal((await people.grace.web.call(`${PEOPLE}/WhoAmI`)).status, 200);
  assert.deepEqual((await call(passing.cli, `${PEOPLE}/ListSignIns`, {})).signIns.length, 1);
  for (const client of ['cli', 'web']) {
    await call(passing[client], `${PEOPLE}/SignOut`, {});
    assert.equal((await passing[client].call(`${PEOPLE}/WhoAmI`)).status, 401);
  }
  assert.equal((await people.linus.web.call(`${PEOPLE}/WhoAmI`)).status, 200);
});

// ---- the socket ----

const socketOf = ({ web, cli }, client = 'web') => Socket.open(kndl, client === 'web'
  ? { cookie: web.cookie, origin: kndl.facts.hub_url } : { authorization: `Bearer ${cli.token}` });

// Asks something of everything that came before it.
async function settle(socket) {
  const id = BigInt(socket.all('pong').length + 1);
  socket.say('ping', { id });
  await until('the ping is answered', () => socket.all('pong').some((pong) => pong.id === id));
}

const channelOf = (socket, channel) => socket.frames.find(({ case: kind, value }) =>
  (kind === 'view' || kind === 'closed') && value.channel === channel);

// What each message of the table does on an open socket, to who may what.
const says = {
  async open(socket, person, row) {
    let channel = 0;
    for (const [name, id] of Object.entries(sessions)) {
      const object = { repo: name === 'notes' ? NOTES : HELLO, creator: name === 'lost' ? 'lost' : 'grace' };
      const cell = cellOf(row, person, object, false);
      const told = [];
      for (const sessionId of [id, absent(id)]) {
        socket.say('open', { channel: ++channel, sessionId, afterSeq: 0n });
        const { case: kind, value } = await until('it is answered', () => channelOf(socket, channel));
        told.push(kind === 'view' ? 'view' : `${value.code}: ${value.message.replace(sessionId, 'X')}`);
      }
      assert.equal(told[1], 'not_found: Session X does not exist');
      assert.equal(told[0], cell === 'A' ? 'view' : told[1], `${person.login} ${name}`);
      if (cell === 'A') assert.equal(channelOf(socket, channel - 1).value.view.session.isCreator, object.creator === person.login);
    }
  },
  async close(socket) {
    socket.say('close', { channel: 1 });
    socket.say('close', { channel: 99 });
    await settle(socket);
  },
  ping: settle,
  async watch(socket, person) {
    socket.say('watch', { on: true });
    await settle(socket);
    const before_ = socket.all('sessionChanged').length;
    const change = async (name) => call(people.grace.web, `${SESSIONS}/SendPrompt`,
      made({ sessionId: sessions[name], text: `say ${name} to ${person.login}` }));
    await change('notes');
    await change('hello');
    const heard = () => new Set(socket.all('sessionChanged').slice(before_).map(({ session }) => session.id));
    if (SEEN_BY[NOTES].includes(person.login)) await until('notes are heard of', () => heard().has(sessions.notes));
    if (SEEN_BY[HELLO].includes(person.login)) await until('hello is heard of', () => heard().has(sessions.hello));
    await settle(socket);
    for (const [name, repo] of [['notes', NOTES], ['hello', HELLO], ['lost', HELLO]])
      if (!SEEN_BY[repo].includes(person.login)) assert.ok(!heard().has(sessions[name]), `${person.login} ${name}`);
  },
};

for (const login of ['ada', 'grace', 'linus', 'stranger', 'lost'])
  for (const client of ['web', 'cli'])
    test(`faults 27: ${login} by ${client} gets what the table says for each message of the socket`, async () => {
      const socket = await socketOf(people[login], client);
      for (const row of readTable().filter(({ section }) => section === 'Messages on an open socket')) {
        assert.ok(row.name in says, `the message ${row.name} has no row in this test`);
        await says[row.name](socket, people[login], row);
      }
      assert.equal(socket.code, undefined);
      socket.close();
    });

test('faults 27: who loses access loses that channel alone, and cannot open it again', async () => {
  const socket = await socketOf(people.linus);
  for (const [channel, name] of [[1, 'hello'], [2, 'notes']])
    socket.say('open', { channel, sessionId: sessions[name], afterSeq: 0n });
  await until('both are seen', () => [1, 2].every((channel) => channelOf(socket, channel)?.case === 'view'));
  await kndl.github.patch({ repos: { 3001: { collaborators: { linus: null } } } });
  const [closed] = await until('hello is closed', () => socket.all('closed').length > 0 && socket.all('closed'));
  assert.deepEqual([closed.channel, closed.code, closed.message], [1, 'not_found', `Session ${sessions.hello} does not exist`]);
  socket.say('open', { channel: 3, sessionId: sessions.hello, afterSeq: 0n });
  assert.equal((await until('it is refused', () => channelOf(socket, 3))).value.message, closed.message);
  const views = () => socket.all('view').filter(({ channel }) => channel === 2).length
    + socket.all('events').filter(({ channel }) => channel === 2).length;
  const seen = views();
  await call(people.grace.web, `${SESSIONS}/SendPrompt`, made({ sessionId: sessions.notes, text: 'say more' }));
  await until('notes go on', () => views() > seen);
  await settle(socket);
  assert.equal(socket.code, undefined);
  socket.close();
});

test('faults 27, 36: a removed Member\'s sockets are closed, by cookie and by CLI token, and nobody else\'s', async () => {
  const theirs = [await socketOf(people.linus), await socketOf(people.linus, 'cli')];
  const other = await socketOf(people.grace);
  theirs[0].say('open', { channel: 1, sessionId: sessions.notes, afterSeq: 0n });
  await until('it is seen', () => theirs[0].all('view').length > 0);
  await call(people.ada.web, `${PEOPLE}/RemoveMember`, made({ personId: people.linus.id }));
  await until('theirs are closed', () => theirs.every(({ code }) => code === 4401));
  for (const client of ['web', 'cli']) {
    assert.equal((await people.linus[client].call(`${PEOPLE}/WhoAmI`)).status, 401);
    await assert.rejects(socketOf(people.linus, client), /refused/);
  }
  await settle(other);
  other.close();
});

test('faults 36: a CLI token that is revoked ends its open sockets', async () => {
  const passing = await cast.signIn('grace');
  const socket = await socketOf(passing, 'cli');
  const { signIns } = await call(passing.cli, `${PEOPLE}/ListSignIns`, {});
  await call(people.grace.web, `${PEOPLE}/EndSignIn`, made({ signInId: signIns[0].id }));
  await until('it is closed', () => socket.code === 4401);
  assert.equal((await passing.cli.call(`${PEOPLE}/WhoAmI`)).status, 401);
});
