// The permission matrix: every kind of caller on every public method, on what is their own, on what
// is another's and on what is not there. AC-03, AC-06, AC-08; faults 26 and 27. The table is
// docs/permissions.md, which a unit test holds to libs/bus/publics.c.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { Kndl, ROOT } from '../harness/kndl.mjs';
import { Viewer } from '../harness/socket.mjs';
import { until } from '../harness/until.mjs';

const SETUP_TOKEN = 'sk-ant-oat01-matrix-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
const NOWHERE = 'a'.repeat(26);
const SESSIONS = 'kndl.sessions.v1.SessionsService';
const SECRETS = 'kndl.secrets.v1.SecretsService';
// These would end what the rest is tried with.
const ENDS_THE_CALLER = new Set(['SignOut', 'EndSignIn', 'EndAllSignIns', 'HandOverOwnership']);

// Where the request is looked at before the Repo, it must be a good one; it changes nothing.
const aboutVariables = { SetVariables: {}, RemoveVariable: { name: 'MATRIX_HAS_NONE' }, ListVariables: {} };

const aboutPeople = {
  InviteMember: { login: 'matrix-guest' }, RemoveMember: { personId: NOWHERE },
  HandOverOwnership: { personId: NOWHERE }, RevokeInvite: { inviteId: NOWHERE },
};

let kndl;
let session; // grace's, on demo/hello
let repoId;
let callers;

function whoOf(about, cells, method) {
  if (cells === 'RRRA') return 'Owner';
  if (cells === 'ARNR') return 'Creator';
  return cells === 'AANA' && about !== 'a Shared variable' && method !== 'CreateSession' ? 'Participant' : 'Member';
}

function readTable() {
  const rows = [];
  let service = '';
  for (const line of fs.readFileSync(path.join(ROOT, 'docs/permissions.md'), 'utf8').split('\n')) {
    service = /^## (\S+)$/.exec(line)?.[1] ?? service;
    const row = /^\| `(\w+)` \| ([\w ]*) \| (\w+) \| (\w+) \| (\w+) \| (\w+) \|/.exec(line);
    if (!row || !service || /(Runner|Raw)Service$/.test(service)) continue;
    rows.push({ service, method: row[1], who: whoOf(row[2], row.slice(3, 7).join(''), row[1]) });
  }
  return rows;
}

async function devLogin(login, client) {
  const answer = await kndl.hub('/auth/dev', {
    method: 'POST',
    body: JSON.stringify({ login, client, machine: 'matrix' }),
    headers: { 'content-type': 'application/json', origin: kndl.facts.hub_url },
  });
  assert.equal(answer.status, 200, answer.text);
  if (client === 'cli') return { authorization: `Bearer ${JSON.parse(answer.text).token}` };
  return { cookie: answer.headers['set-cookie'][0].split(';')[0], origin: kndl.facts.hub_url };
}

const ask = (caller, method, message) => kndl.hub(`/${method}`, {
  method: 'POST',
  body: JSON.stringify(message),
  headers: { 'content-type': 'application/json', ...caller },
});

async function call(caller, method, message) {
  const answer = await ask(caller, method, message);
  assert.equal(answer.status, 200, `${method}: ${answer.text}`);
  return JSON.parse(answer.text);
}

// All of an answer but the moment and the trace; the id that was asked for is in its words.
function comparable({ status, headers, text }, id) {
  const rest = { ...headers };
  delete rest.date;
  delete rest['kndl-trace'];
  return JSON.stringify({ status, rest, text: text.replaceAll(id, 'X') });
}

before(async () => {
  kndl = await Kndl.start('matrix');
  await kndl.github.patch({ users: { gone: { id: 504, name: 'Gone' } } });
  callers = {
    owner: await devLogin('ada', 'web'),
    creator: await devLogin('grace', 'web'),
    creatorsCli: await devLogin('grace', 'cli'),
    withoutRepo: await devLogin('stranger', 'web'),
    removed: await devLogin('gone', 'web'),
    runner: { authorization: `Bearer ${fs.readFileSync(path.join(kndl.dir, 'keys/runner-token'), 'utf8')}` },
    mod: { authorization: `Bearer kndl_mod_${'0'.repeat(43)}_000000` },
    anonymous: {},
  };
  await call(callers.creator, `${SECRETS}/SetSetupToken`, { requestId: 'matrix', token: SETUP_TOKEN });
  session = (await call(callers.creator, `${SESSIONS}/CreateSession`,
    { requestId: 'matrix', repoName: 'demo/hello' })).session;
  repoId = session.repoId;
  const people = 'kndl.repo_access.v1.RepoAccessService';
  const { members } = await call(callers.owner, `${people}/ListMembers`, {});
  const gone = members.find(({ person }) => person.login === 'gone').person.id;
  await call(callers.owner, `${people}/RemoveMember`, { requestId: crypto.randomUUID(), personId: gone });
});

after(async () => {
  await kndl?.stop();
});

// What a method is asked with so that permission alone decides. What is allowed is refused as
// invalid, and changes nothing.
function messageOf({ service, method, who }, isThere) {
  if (who === 'Owner' && !method.startsWith('List'))
    return { requestId: crypto.randomUUID(), ...aboutPeople[method] };
  if (who === 'Member' || who === 'Owner') return {};
  if (service === SECRETS && method !== 'GetSessionVariables')
    return { ...(method === 'ListVariables' ? {} : { requestId: crypto.randomUUID() }), repoId: isThere ? repoId : '999999999', ...aboutVariables[method] };
  return { sessionId: isThere ? session.id : NOWHERE };
}

const isRefusal = (status) => [401, 403, 404].includes(status);

test('AC-03: without a person\'s credential every method answers alike, 401', async () => {
  const rows = readTable();
  assert.ok(rows.length > 30);
  // At once: who tries tokens waits a second for each answer.
  const tries = rows.flatMap((row) => ['anonymous', 'removed', 'runner', 'mod'].map(async (name) => {
    const answer = await ask(callers[name], `${row.service}/${row.method}`, messageOf(row, true));
    assert.equal(answer.status, 401, `${name} ${row.method}`);
    return comparable(answer, session.id);
  }));
  assert.deepEqual([...new Set(await Promise.all(tries))].length, 1);
});

test('AC-08: each kind of person gets what the table says, and nothing more', async () => {
  const creators = new Set(['creator', 'creatorsCli']);
  for (const row of readTable()) {
    if (ENDS_THE_CALLER.has(row.method) && row.who !== 'Owner') continue;
    for (const name of ['owner', 'creator', 'creatorsCli', 'withoutRepo']) {
      if (name === 'owner' && ENDS_THE_CALLER.has(row.method)) continue;
      const answer = await ask(callers[name], `${row.service}/${row.method}`, messageOf(row, true));
      const what = `${name} ${row.method}: ${answer.status} ${answer.text}`;
      if (name === 'creatorsCli' && /do this in the browser/.test(answer.text))
        assert.equal(answer.status, 403, what);
      else if (row.who === 'Owner' && name !== 'owner') assert.equal(answer.status, 403, what);
      else if (row.who === 'Creator' && name === 'owner') assert.equal(answer.status, 403, what);
      else if (name === 'withoutRepo' && !['Member', 'Owner'].includes(row.who))
        assert.equal(answer.status, 404, what);
      else if (row.who === 'Creator' && creators.has(name)) assert.ok(!isRefusal(answer.status), what);
      else if (row.who === 'Participant') assert.ok(!isRefusal(answer.status), what);
      else assert.ok(![401, 403].includes(answer.status), what);
    }
  }
});

test('AC-06, faults 26: what one may not see and what is not there answer byte by byte alike', async () => {
  for (const row of readTable().filter(({ who }) => who === 'Participant' || who === 'Creator')) {
    const method = `${row.service}/${row.method}`;
    const there = messageOf(row, true);
    const nowhere = messageOf(row, false);
    const [foreign, absent] = [await ask(callers.withoutRepo, method, there),
      await ask(callers.withoutRepo, method, nowhere)];
    assert.equal(foreign.status, 404, `${row.method} ${foreign.text}`);
    if (there.sessionId)
      assert.equal(comparable(foreign, session.id), comparable(absent, NOWHERE), row.method);
    else assert.equal(foreign.text.replaceAll(repoId, 'X'), absent.text.replaceAll('999999999', 'X'), row.method);
    const byOwner = await ask(callers.owner, method, nowhere);
    assert.equal(byOwner.status, 404, `${row.method} ${byOwner.text}`);
  }
});

test('lists and heads leave out what one may not see', async () => {
  const seen = await call(callers.withoutRepo, `${SESSIONS}/ListSessions`, {});
  assert.deepEqual(seen, await call(callers.withoutRepo, `${SESSIONS}/ListSessions`, { repoId: '999999999' }));
  const [foreign, absent] = [await ask(callers.withoutRepo, `${SESSIONS}/Heads`, { sessionIds: [session.id] }),
    await ask(callers.withoutRepo, `${SESSIONS}/Heads`, { sessionIds: [NOWHERE] })];
  assert.equal(comparable(foreign, session.id), comparable(absent, NOWHERE));
});

test('faults 27: on a socket too, and without closing what else is open on it', async () => {
  const told = [];
  for (const id of [session.id, NOWHERE]) {
    const viewer = new Viewer(kndl, callers.withoutRepo.cookie, id);
    const { code, message } = await until('it is refused', () => viewer.closed);
    told.push(JSON.stringify({ code, message: message.replaceAll(id, 'X') }));
    assert.equal(viewer.connections, 1);
    viewer.say('ping', { id: 1n });
    viewer.say('watch', { on: true });
    viewer.say('close', { channel: 1 });
    assert.equal(viewer.view, undefined);
    viewer.close();
  }
  assert.equal(told[0], told[1]);
  for (const name of ['creator', 'owner']) { // the Owner as a Participant
    const viewer = new Viewer(kndl, callers[name].cookie, session.id);
    await until(`${name} sees it`, () => viewer.view);
    assert.equal(viewer.view.session.isCreator, name === 'creator');
    viewer.close();
  }
  for (const name of ['removed', 'anonymous', 'runner']) {
    const url = kndl.facts.hub_url;
    const socket = new WebSocket(`${url.replace('http', 'ws')}/socket`,
      { protocols: ['kndl'], headers: { origin: url, ...callers[name] } });
    const outcome = await new Promise((resolve) => {
      socket.onopen = () => resolve('open');
      socket.onerror = () => resolve('refused');
      socket.onclose = () => resolve('refused');
    });
    socket.close();
    assert.equal(outcome, 'refused', name);
  }
});
