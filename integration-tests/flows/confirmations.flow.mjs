// What a CLI's token may not, since it lies on a disk: each command asks for a yes in the browser and
// goes on with a confirmation of its own. CL-01, CR-01, AC-09; then the attacks on it.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { Kndl } from '../harness/kndl.mjs';
import { until } from '../harness/until.mjs';

const PEOPLE = 'kndl.repo_access.v1.RepoAccessService';
const SECRETS = 'kndl.secrets.v1.SecretsService';
const SETUP_TOKEN = 'sk-ant-oat01-confirmed-AAAAAAAAAAAAAAAAAAAAAAAAAAAA';

let kndl;
let ada; // cookies
let grace;
let gracesCli;

const id = () => crypto.randomUUID();

before(async () => {
  kndl = await Kndl.start('confirmations');
  ada = await kndl.signIn('ada');
  grace = await kndl.signIn('grace');
  const answer = await kndl.hub('/auth/dev', { method: 'POST',
    body: JSON.stringify({ login: 'grace', client: 'cli', machine: 'graces' }),
    headers: { 'content-type': 'application/json' } });
  gracesCli = JSON.parse(answer.text).token;
});

after(async () => {
  await kndl?.stop();
});

// People are slower than the rate limits, and wait.
function patiently(ask) {
  let answer;
  return until('the rate allows it', async () => {
    answer = await ask();
    return answer.status !== 429 && answer;
  });
}

const decide = (cookie, userCode, isApproved) => patiently(() =>
  kndl.browse(cookie, `${PEOPLE}/DecideDevice`, { requestId: id(), userCode, isApproved }));

const begin = (purpose, token) => patiently(() =>
  kndl.call(`${PEOPLE}/BeginConfirmation`, { purpose }, { token }));

// As somebody does who reads the page and says yes.
async function yes(purpose, userCode) {
  const found = await patiently(() => kndl.browse(ada, `${PEOPLE}/FindDevice`, { userCode }));
  assert.equal(found.body.purpose, purpose);
  assert.equal((await decide(ada, userCode, true)).status, 200);
}

async function confirmed(purpose, args, options) {
  const config = fs.readFileSync(path.join(kndl.dir, 'cli.json'), 'utf8');
  const done = await kndl.confirmedCli(args, (code) => yes(purpose, code), options);
  assert.equal(done.code, 0, done.stderr);
  assert.equal(fs.readFileSync(path.join(kndl.dir, 'cli.json'), 'utf8'), config);
  assert.doesNotMatch(done.stdout + done.stderr, /kndl_(cnf|dev)_/);
  return done.stdout;
}

// A confirmation of the Owner's CLI, over the API.
async function confirmation(purpose, { token, cookie = ada } = {}) {
  const begun = await begin(purpose, token);
  assert.equal(begun.status, 200, JSON.stringify(begun));
  assert.equal((await decide(cookie, begun.body.userCode, true)).status, 200);
  const { deviceCode } = begun.body;
  const taken = await kndl.call(`${PEOPLE}/TakeConfirmation`, { deviceCode }, { token });
  assert.match(taken.body.token, /^kndl_cnf_/);
  return { token: taken.body.token, deviceCode };
}

test('CL-01, AC-09: Members are listed, invited and removed from a terminal, by a yes in the browser', async () => {
  const members = await confirmed('PURPOSE_SEE_MEMBERS', ['members']);
  assert.match(members, /^ada {2}Owner {3}since .*\ngrace {2}Member {2}since /m);
  const [first] = (await confirmed('PURPOSE_SEE_MEMBERS', ['members', '--json'])).trim().split('\n').map(JSON.parse);
  assert.equal(first.person.login, 'ada');

  const link = await confirmed('PURPOSE_CHANGE_MEMBERS', ['invite', 'linus']);
  assert.match(link, /http:\/\/\S+\/#invite=kndl_inv_\S+\n$/);
  assert.match(await confirmed('PURPOSE_SEE_MEMBERS', ['invites']), /^linus {2}invited /m);
  await confirmed('PURPOSE_CHANGE_MEMBERS', ['invites', 'revoke', 'linus']);
  const invites = await kndl.browse(ada, `${PEOPLE}/ListInvites`, {});
  assert.equal(invites.body.invites, undefined);

  const guest = await kndl.signIn('stranger');
  await confirmed('PURPOSE_CHANGE_MEMBERS', ['members', 'remove', 'stranger']);
  assert.equal((await kndl.browse(guest, `${PEOPLE}/WhoAmI`, {})).status, 401);
});

test('CR-01: the setup token is set from standard input, shown and removed', async () => {
  const isSet = async () => (await kndl.browse(ada, `${SECRETS}/GetSetupToken`, {})).body.setupToken !== undefined;
  await confirmed('PURPOSE_SETUP_TOKEN', ['token', 'remove']);
  assert.equal(await isSet(), false);
  assert.match(await confirmed('PURPOSE_SETUP_TOKEN', ['token', 'set'], { input: `${SETUP_TOKEN}\n` }),
    /^A setup token, set on /);
  assert.equal(await isSet(), true);
  assert.match(await kndl.ok('token', 'show'), /^A setup token, set on /); // needs no yes
  for (const file of fs.readdirSync(path.join(kndl.dir, 'log')))
    assert.equal(fs.readFileSync(path.join(kndl.dir, 'log', file)).includes(SETUP_TOKEN), false, file);
});

test('CL-01: Runners are administered from a terminal', async () => {
  const added = await confirmed('PURPOSE_RUNNERS', ['runners', 'add', 'second box']);
  const [token] = /kndl_run_\S+/.exec(added);
  await confirmed('PURPOSE_RUNNERS', ['runners', 'rename', 'second box', 'small box']);
  const rotated = await confirmed('PURPOSE_RUNNERS', ['runners', 'rotate', 'SMALL box']);
  assert.notEqual(/kndl_run_\S+/.exec(rotated)[0], token);
  assert.match(await kndl.ok('runners'), /^small box {2}never seen/m);
  await confirmed('PURPOSE_RUNNERS', ['runners', 'remove', 'small box']);
  assert.doesNotMatch(await kndl.ok('runners'), /small box/);
});

test('CL-01: a no ends the command, by the table of exit statuses', async () => {
  const refused = await kndl.confirmedCli(['invite', 'linus'], (code) => decide(ada, code, false));
  assert.equal(refused.code, 3);
  assert.match(refused.stderr, /it was refused in the browser/);
  assert.equal(refused.stdout, '');
  assert.equal((await kndl.cli(['members', 'remove'])).code, 2);
  assert.equal((await kndl.cli(['invite', 'no login'])).code, 2);
  assert.equal((await kndl.cli(['runners', 'remove', 'nobody'])).code, 3);
  const owner = await kndl.confirmedCli(['members', 'remove', 'ada'], (code) => decide(ada, code, true));
  assert.equal(owner.code, 4, owner.stderr);
  const help = await kndl.ok('invite', '--help');
  assert.match(help, /prints the address of a page on standard error/);
});

test('an attack: the token itself, another purpose, another Member, another machine', async () => {
  const refused = await kndl.call(`${PEOPLE}/InviteMember`, { requestId: id(), login: 'linus' });
  assert.deepEqual([refused.status, refused.body.message], [403, 'do this in the browser']);

  const { token } = await confirmation('PURPOSE_SEE_MEMBERS');
  assert.equal((await kndl.call(`${PEOPLE}/ListMembers`, {}, { token })).status, 200);
  for (const method of [`${PEOPLE}/InviteMember`, `${PEOPLE}/WhoAmI`, `${PEOPLE}/BeginConfirmation`,
    `${PEOPLE}/EndAllSignIns`, `${SECRETS}/SetSetupToken`, 'kndl.sessions.v1.SessionsService/ListSessions'])
    assert.equal((await kndl.call(method, {}, { token })).status, 403, method);

  // Another Member neither finds the code nor answers it, and their machine does not get it.
  const { body } = await begin('PURPOSE_CHANGE_MEMBERS');
  assert.equal((await kndl.browse(grace, `${PEOPLE}/FindDevice`, { userCode: body.userCode })).status, 404);
  assert.equal((await decide(grace, body.userCode, true)).status, 404);
  assert.equal((await decide(grace, body.userCode, false)).status, 404);
  assert.equal((await decide(ada, body.userCode, true)).status, 200);
  const theirs = await kndl.call(`${PEOPLE}/TakeConfirmation`, { deviceCode: body.deviceCode }, { token: gracesCli });
  assert.equal(theirs.status, 403);
  const login = await kndl.hub('/auth/device/token', { method: 'POST',
    body: JSON.stringify({ deviceCode: body.deviceCode }), headers: { 'content-type': 'application/json' } });
  assert.equal(login.status, 401);

  // Who is no Owner is asked for no yes in vain.
  const owners = await begin('PURPOSE_RUNNERS', gracesCli);
  assert.equal(owners.status, 403);
});

test('an attack: a code replayed, a foreign page, codes guessed', async () => {
  const { deviceCode } = await confirmation('PURPOSE_SEE_MEMBERS');
  assert.equal((await kndl.call(`${PEOPLE}/TakeConfirmation`, { deviceCode })).status, 403);

  const { body } = await begin('PURPOSE_CHANGE_MEMBERS');
  for (const origin of [undefined, 'null', 'https://evil.example']) {
    const answer = await kndl.hub(`/${PEOPLE}/DecideDevice`, { method: 'POST',
      body: JSON.stringify({ requestId: id(), userCode: body.userCode, isApproved: true }),
      headers: { 'content-type': 'application/json', cookie: ada, ...(origin ? { origin } : {}) } });
    assert.equal(answer.status, 403, origin);
  }
  assert.equal((await kndl.call(`${PEOPLE}/TakeConfirmation`, { deviceCode: body.deviceCode })).body.token, undefined);

  const tries = [];
  for (let i = 0; i < 40; i++)
    tries.push((await kndl.browse(grace, `${PEOPLE}/FindDevice`, { userCode: 'BBBB-BBBB' })).status);
  assert.ok(tries.filter((status) => status === 404).length <= 21, String(tries));
  assert.equal(tries.at(-1), 429);
});

test('an attack: a confirmation outlives neither its machine nor its Member', async () => {
  const one = await confirmation('PURPOSE_SETUP_TOKEN', { token: gracesCli, cookie: grace });
  const two = await confirmation('PURPOSE_SETUP_TOKEN', { token: gracesCli, cookie: grace });
  const use = (token) => kndl.call(`${SECRETS}/SetSetupToken`, { requestId: id(), token: SETUP_TOKEN }, { token });
  assert.equal((await use(one.token)).status, 200);
  assert.equal((await kndl.call(`${PEOPLE}/SignOut`, { requestId: id() }, { token: gracesCli })).status, 200);
  assert.equal((await use(one.token)).status, 401);
  assert.equal((await use(two.token)).status, 401);
});
