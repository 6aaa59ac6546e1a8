// Runners: registered by the Owner, let onto NATS for an hour by their token, and removed. CR-05,
// CR-06 (the RUNNER_TOKEN's row), AC-10, faults 28 and 44.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { Kndl, ROOT } from '../harness/kndl.mjs';
import { newNkey, Wire } from '../harness/nats-wire.mjs';
import { until } from '../harness/until.mjs';

const SERVICE = 'kndl.sessions.v1.RunnersService';

let kndl;
let owner; // a browser's cookie

before(async () => {
  kndl = await Kndl.start('runners');
  owner = await kndl.signIn();
});

after(async () => {
  await kndl?.stop();
});

const administer = (method, message, cookie = owner) =>
  kndl.browse(cookie, `${SERVICE}/${method}`, { requestId: crypto.randomUUID(), ...message });

async function register(name) {
  const answer = await administer('RegisterRunner', { name });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return { id: answer.body.runner.id, token: answer.body.token };
}

function askCredential(token, { userPublic, protocol = 1, headers = {} }) {
  return kndl.hub('/runner/credential', {
    method: 'POST',
    body: JSON.stringify({ userPublic, protocol, version: 'test' }),
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
  });
}

async function mint(token) {
  const { userPublic, privateKey } = newNkey();
  const answer = await askCredential(token, { userPublic });
  assert.equal(answer.status, 200, answer.text);
  return { ...JSON.parse(answer.text), privateKey };
}

const claimsOf = (jwt) => JSON.parse(Buffer.from(jwt.split('.')[1], 'base64url').toString());

const runners = async () => {
  const list = await kndl.json('runners');
  return new Map(list.map((runner) => [runner.id, runner]));
};

test('./dev up registers this machine and keeps its token in a file of its own', async () => {
  const file = path.join(kndl.dir, 'keys/runner-token');
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  assert.match(fs.readFileSync(file, 'utf8'), /^kndl_run_/);
  await until('the Runner is connected', async () =>
    [...(await runners()).values()].some((runner) => runner.state === 'STATE_CONNECTED'));
  assert.ok(!fs.existsSync(path.join(kndl.dir, 'nats/creds/runner.creds')));
});

test('CR-06: the token is in no environment, argument or log', async () => {
  const token = fs.readFileSync(path.join(kndl.dir, 'keys/runner-token'), 'utf8');
  for (const [name, { pid }] of await kndl.programs())
    for (const file of ['environ', 'cmdline'])
      assert.ok(!fs.readFileSync(`/proc/${pid}/${file}`, 'latin1').includes(token), `${name} ${file}`);
  for (const log of fs.readdirSync(path.join(kndl.dir, 'log')))
    assert.ok(!fs.readFileSync(path.join(kndl.dir, 'log', log), 'utf8').includes(token), log);
});

test('CR-05: PostgreSQL has the hash of a token and nothing else of it', async () => {
  const { token } = await register('hashed');
  const row = kndl.sql('sessions',
    "SELECT encode(token_hash, 'hex'), r::text FROM sessions.runner r WHERE name = 'hashed'");
  assert.ok(row.startsWith(crypto.createHash('sha256').update(token).digest('hex')));
  assert.ok(!row.includes(token.slice(9, 40)));
});

test('every other credential on the route is an unknown token, word for word', async () => {
  const { userPublic } = newNkey();
  const { token } = await register('other kinds');
  const unknown = `${token.slice(0, 20)}${token[20] === 'a' ? 'b' : 'a'}${token.slice(21)}`;
  const answers = [
    await askCredential(undefined, { userPublic }),
    await askCredential('x', { userPublic }),
    await askCredential(unknown, { userPublic }),
    await askCredential(kndl.token(), { userPublic }),
    await askCredential(undefined, { userPublic, headers: { cookie: owner, origin: kndl.facts.hub_url } }),
    await askCredential(token, { userPublic, headers: { origin: kndl.facts.hub_url } }),
  ];
  for (const answer of answers) {
    assert.equal(answer.status, 401);
    assert.equal(answer.text, answers[0].text);
  }
  assert.equal((await askCredential(token, { userPublic: 'UAAA' })).status, 400);
  assert.equal((await askCredential(token, { userPublic })).status, 200);
});

test('a RUNNER_TOKEN opens nothing that is a person\'s', async () => {
  const { token } = await register('not a person');
  const answer = await kndl.call(`${SERVICE}/ListRunners`, {}, { token });
  assert.equal(answer.status, 401);
});

test('the JWT is for that Runner, for an hour, and says nothing of its own', async () => {
  const { id, token } = await register('one hour');
  const minted = await mint(token);
  const claims = claimsOf(minted.jwt);
  assert.equal(minted.runnerId, id);
  assert.equal(claims.name, id);
  assert.ok(Math.abs(claims.exp - claims.iat - 3600) <= 2);
  assert.equal(claims.nats.pub, undefined);
  assert.equal(claims.nats.sub, undefined);
});

// Every subject of the table, with a Runner's own id and another's, in both directions.
test('faults 28: a minted Runner publishes and listens where the table lets it, and nowhere else', async () => {
  const own = await register('prober');
  const other = await register('victim');
  const minted = await mint(own.token);
  const wire = await Wire.open(kndl.facts.nats_port, minted.jwt, minted.privateKey);
  const table = fs.readFileSync(path.join(ROOT, 'docs/subjects.md'), 'utf8');
  const rows = [...table.matchAll(/^\| `([^`]+)` \| ([^|]*) \| ([^|]*) \|$/gm)];
  assert.ok(rows.length > 40);
  let allowed = 0;

  for (const [, subject, asks, answers] of rows) {
    const publishes = asks.split(', ').includes('runner');
    const receives = answers.trim() === 'runner';
    for (const id of subject.includes('<runner>') ? [own.id, other.id] : ['']) {
      const filled = subject.replace('<runner>', id).replaceAll(/<\w+>|\*|>/g, 'abc');
      const isOwn = id === own.id;
      assert.equal(await wire.mayPublish(filled), publishes && isOwn, `publish ${filled}`);
      assert.equal(await wire.maySubscribe(filled), receives && isOwn, `subscribe ${filled}`);
      allowed += publishes && isOwn ? 1 : 0;
    }
  }
  assert.ok(allowed > 8);
  for (const wild of ['>', '*', 'kndl.>', 'kndl.runner.>', 'kndl.runner.*.cmd.*', 'kndl.live.>',
    '_INBOX.>', '_INBOX.runner.>', `_INBOX.runner.${other.id}.>`, '_INBOX.sessions.>', '$SRV.>', '$SYS.>'])
    assert.equal(await wire.maySubscribe(wild), false, wild);
  for (const inbox of ['_INBOX.sessions.x', `_INBOX.runner.${other.id}.x`, `_INBOX.runner.${own.id}.x`])
    assert.equal(await wire.mayPublish(inbox), false, inbox);
  assert.equal(await wire.maySubscribe(`_INBOX.runner.${own.id}.>`), true);
  wire.close();
});

test('only the key that the JWT is for opens the door', async () => {
  const { token } = await register('stolen jwt');
  const minted = await mint(token);
  await assert.rejects(Wire.open(kndl.facts.nats_port, minted.jwt, newNkey().privateKey), /Authorization/);
});

test('AC-10: a Runner of another protocol is turned away and told what to do', async () => {
  const { id, token } = await register('old timer');
  const { userPublic } = newNkey();
  const older = await askCredential(token, { userPublic, protocol: 0 });
  assert.equal(older.status, 400);
  assert.deepEqual(JSON.parse(older.text).code, 'failed_precondition');
  assert.match(JSON.parse(older.text).message, /protocol 0 and the Hub 1: update the Runner/);
  const newer = await askCredential(token, { userPublic, protocol: 2 });
  assert.match(JSON.parse(newer.text).message, /update the Hub/);
  const shown = (await runners()).get(id);
  assert.equal(shown.state, 'STATE_REFUSED');
  assert.match(shown.problem, /update the Hub/);
});

test('faults 36: a rotated token lets in, the older one does not', async () => {
  const { id, token } = await register('rotated');
  const rotated = await administer('RotateRunnerToken', { runnerId: id });
  assert.equal(rotated.status, 200);
  const { userPublic } = newNkey();
  assert.equal((await askCredential(token, { userPublic })).status, 401);
  assert.equal((await askCredential(rotated.body.token, { userPublic })).status, 200);
});

test('faults 36: a removed Runner is refused at once, wherever it asks', async () => {
  const { id, token } = await register('removed');
  const minted = await mint(token);
  const wire = await Wire.open(kndl.facts.nats_port, minted.jwt, minted.privateKey);
  const attend = `kndl.runner.${id}.rpc.sessions.v1.SessionsRunnerService.Attend`;
  const inbox = `_INBOX.runner.${id}.x`;
  // Without a body it is of protocol 0: it is known, and turned away for that.
  assert.match(await wire.ask(attend, inbox), /Nats-Service-Error-Code: ?9/);
  assert.equal((await administer('RemoveRunner', { runnerId: id })).status, 200);
  const { userPublic } = newNkey();
  assert.equal((await askCredential(token, { userPublic })).status, 401);
  assert.ok(!(await runners()).has(id));
  assert.equal((await administer('RenameRunner', { runnerId: id, name: 'x' })).status, 404);
  wire.close();
});

test('nobody but the Owner administers Runners, and nobody by a CLI token', async () => {
  const { id } = await register('untouched');
  const member = await kndl.signIn('grace');
  const nowhere = 'a'.repeat(26);
  for (const method of ['RegisterRunner', 'RenameRunner', 'RotateRunnerToken', 'RemoveRunner']) {
    const answers = [];
    for (const runnerId of [id, nowhere]) {
      const message = method === 'RegisterRunner' ? { name: 'mine' } : { runnerId };
      if (method === 'RenameRunner') message.name = 'mine';
      answers.push(await administer(method, message, member));
      const byCli = await kndl.call(`${SERVICE}/${method}`, { requestId: 'x', ...message });
      assert.equal(byCli.status, 403, method);
    }
    assert.equal(answers[0].status, 403, method);
    assert.deepEqual(answers[0], answers[1]);
  }
  assert.equal((await kndl.browse(member, `${SERVICE}/ListRunners`, {})).status, 200);
  assert.equal((await kndl.hub(`/${SERVICE}/ListRunners`, {
    method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } })).status, 401);
});
