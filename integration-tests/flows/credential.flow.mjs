// A Runner's user on NATS lasts as long as HUB_RUNNER_JWT_MS says, here six seconds: it is renewed
// before it ends and nothing is lost by it; a Runner that was removed, or whose token was rotated,
// does not get another. CR-05, CR-06.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { Kndl } from '../harness/kndl.mjs';
import { newNkey, Wire } from '../harness/nats-wire.mjs';
import { Sessions } from '../harness/sessions.mjs';
import { until } from '../harness/until.mjs';

const SERVICE = 'kndl.sessions.v1.RunnersService';
const JWT_MS = 6000;

let kndl;
let sessions;
let owner; // a browser's cookie
let id; // of a Session
let runner; // the Runner of this machine

before(async () => {
  kndl = await Kndl.start('credential', { env: { KNDL_DEV_RUNNER_JWT_MS: String(JWT_MS) } });
  owner = await kndl.signIn();
  sessions = new Sessions(kndl);
  id = await sessions.createActive();
  runner = (await kndl.json('runners'))[0].id;
});

after(async () => {
  await kndl?.stop();
});

const show = () => sessions.show(id);

const administer = (method, message) =>
  kndl.browse(owner, `${SERVICE}/${method}`, { requestId: crypto.randomUUID(), ...message });

const askCredential = (token, userPublic) => kndl.hub('/runner/credential', {
  method: 'POST',
  body: JSON.stringify({ userPublic, protocol: 1, version: 'test' }),
  headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
});

async function mint(token) {
  const { userPublic, privateKey } = newNkey();
  const answer = await askCredential(token, userPublic);
  assert.equal(answer.status, 200, answer.text);
  return { ...JSON.parse(answer.text), privateKey };
}

const connect = ({ jwt, privateKey }) => Wire.open(kndl.facts.nats_port, jwt, privateKey);

// NATS takes a JWT until the second in which it ends is over.
const opensNothing = (minted) => until('the JWT opens nothing any more', () =>
  connect(minted).then((wire) => wire.close(), () => true));

function renewals() {
  const log = fs.readFileSync(path.join(kndl.dir, 'log/runner-agent.log'), 'utf8');
  return log.split('the credential is new').length - 1;
}

test('CR-06: it is renewed before it ends, and a Session that talks on loses nothing', async () => {
  const first = renewals();
  const words = [];
  while (renewals() < first + 4) {
    words.push(`word-${words.length}-${crypto.randomBytes(4).toString('hex')}`);
    await kndl.ok('prompt', id, `say ${words.at(-1)}`, '--wait');
  }
  assert.ok(words.length > 4);
  const events = await kndl.json('events', id);
  const said = events.filter((event) => event.text).map((event) => event.text.text).join('\n');
  for (const word of words) assert.equal(said.split(word).length - 1, 1, `${word} once`);
  assert.deepEqual(events.filter((event) => event.note?.noteCode === 'events_lost'), []);
  assert.deepEqual(events.filter((event) => event.stateChanged?.state === 'STATE_FROZEN'), []);
});

test('CR-05: a rotated token lets nobody in again, and what it had let in is cut off in time', async () => {
  const registered = await administer('RegisterRunner', { name: 'rotated' });
  const old = registered.body.token;
  const minted = await mint(old);
  const wire = await connect(minted);
  const rotated = await administer('RotateRunnerToken', { runnerId: registered.body.runner.id });
  assert.equal((await askCredential(old, newNkey().userPublic)).status, 401);
  assert.match(await wire.end(), /Expired/);
  await opensNothing(minted);
  assert.equal((await askCredential(rotated.body.token, newNkey().userPublic)).status, 200);
});

// MintGitTokenRequest {session_id, use: USE_CLONE}; FetchVariablesRequest {session_id, run}.
function message(number) {
  return Buffer.concat([Buffer.from([0x0a, id.length]), Buffer.from(id), Buffer.from([0x10, number])]);
}

test('CR-06: a removed Runner is refused by every service at once, and cut off when its JWT ends', async () => {
  const token = fs.readFileSync(path.join(kndl.dir, 'keys/runner-token'), 'utf8').trim();
  const thief = await mint(token);
  const wire = await connect(thief);
  const { run } = await show();
  const inbox = `_INBOX.runner.${runner}.thief`;
  const rpc = `kndl.runner.${runner}.rpc`;
  const mintGit = () => wire.ask(`${rpc}.sessions.v1.SessionsRunnerService.MintGitToken`, inbox, message(1));
  const variables = () =>
    wire.ask(`${rpc}.secrets.v1.SecretsRunnerService.FetchVariables`, inbox, message(run));
  // An empty PutRequest {run} at the copy of redactor that has the Session's stream.
  const instance = /"message":"the service runs".*?"instance":"([^"]+)"/
    .exec(fs.readFileSync(path.join(kndl.dir, 'log/redactor.log'), 'utf8'))[1];
  const put = () => wire.ask(`kndl.raw.${instance}.${runner}.${id}`, inbox, Buffer.from([0x08, run]));
  assert.doesNotMatch(await put(), /Nats-Service-Error/);
  assert.doesNotMatch(await mintGit(), /Nats-Service-Error/);
  assert.doesNotMatch(await variables(), /Nats-Service-Error/);

  assert.equal((await administer('RemoveRunner', { runnerId: runner })).status, 200);
  assert.equal((await askCredential(token, newNkey().userPublic)).status, 401);
  assert.match(await mintGit(), /Nats-Service-Error-Code: ?5/);
  await until('redactor has dropped its stream', async () => /Nats-Service-Error/.test(await put()));
  await until('secrets refuses it', async () => /Nats-Service-Error-Code/.test(await variables()));
  assert.match(await wire.end(), /Expired/);
  await opensNothing(thief);
  await until('its Session sleeps', async () => (await show()).reasonCode === 'runner_removed');
});
