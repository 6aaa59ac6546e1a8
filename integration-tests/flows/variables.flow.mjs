// Variables: from standard input into the environment of a real Claude Code, and shown to nobody
// who must not see them. BU-10, CC-05, CC-06, CR-05, CR-06, RD-01 to RD-03, RD-06, RD-07.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { after, before, test } from 'node:test';

import { Kndl, lines } from '../harness/kndl.mjs';
import { Sessions } from '../harness/sessions.mjs';
import { until } from '../harness/until.mjs';

const TOKEN = 'sk-ant-oat01-planted-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

// Values of odd characters. That they are nowhere but in the Sandbox and on the Runner's own disk is
// found out by the harness, as in each flow (canaries/).
const SECRET = `canary/one+${crypto.randomBytes(9).toString('hex')}=`;
const SHARED = `canary-two"${crypto.randomBytes(9).toString('hex')}`;
const REPLACED = `canary-three-${crypto.randomBytes(9).toString('hex')}`;
const KEY = `sk-ant-api03-canary-${crypto.randomBytes(9).toString('hex')}`;
const PEM = `-----BEGIN X-----\ncanary${crypto.randomBytes(20).toString('hex')}\n-----END X-----`;

let kndl;
let sessions;
let session;

const inside = (id, command) => sessions.bash(id, command);

async function vars(args, input) {
  const done = await kndl.cli(['vars', ...args], { input });
  assert.equal(done.code, 0, `kndl vars ${args.join(' ')}: ${done.stdout}${done.stderr}`);
  return done;
}

const stars = (value) => '*'.repeat(value.length);

before(async () => {
  kndl = await Kndl.start('variables');
  await kndl.setSetupToken(TOKEN);
  await vars(['demo/hello', 'set', 'SECRET', '--sensitive'], SECRET);
  await vars(['demo/hello', 'set', 'REPLACED', '--sensitive'], REPLACED);
  await vars(['demo/hello', 'set', 'ANTHROPIC_API_KEY', '--sensitive'], KEY);
  await vars(['demo/hello', 'set', 'PEM', '--sensitive', '--build'], PEM);
  await vars(['demo/hello', 'import'],
    '# of the demo\nexport SHOWN="two words"\nDISABLE_AUTOUPDATER=0\nTZ=Asia/Tokyo\nOVER=own\n');
  await vars(['shared', 'set', 'SHARED', '--sensitive'], SHARED);
  await vars(['shared', 'set', 'OVER'], 'shared');
  await vars(['demo/hello', 'link', 'SHARED']);
  await vars(['demo/hello', 'link', 'OVER']);
  sessions = new Sessions(kndl);
  session = await sessions.createActive();
});

after(async () => {
  await kndl?.stop();
});

test('CR-06: a Sensitive value is never shown again; the others are', async () => {
  const list = await kndl.json('vars', 'demo/hello');
  const byName = (name) => list.filter((variable) => variable.name === name);
  assert.equal(byName('SHOWN')[0].value, 'two words');
  assert.equal(byName('SECRET')[0].value ?? '', '');
  assert.equal(byName('SECRET')[0].sensitive, true);
  assert.equal(byName('PEM')[0].atBuild, true);
  assert.deepEqual(byName('OVER').map((variable) => variable.overridden ?? false), [false, true]);
  const page = await kndl.browse(await kndl.signIn(), 'kndl.secrets.v1.SecretsService/ListVariables',
    { repoName: 'demo/hello' });
  assert.equal(page.status, 200);
  assert.doesNotMatch(JSON.stringify(page.body), /canary/);
});

test('RD-06: what cannot be masked is refused with the reason; RD-07: the limits are told', async () => {
  const short = await kndl.cli(['vars', 'demo/hello', 'set', 'SHORT', '--sensitive'], { input: 'abc' });
  assert.equal(short.code, 2);
  assert.match(short.stderr, /SHORT/);
  const weak = await vars(['demo/notes', 'set', 'WEAK', '--sensitive'], 'admin');
  assert.match(weak.stderr, /WEAK: .*common word/);
  await vars(['demo/notes', 'remove', 'WEAK']);
  const url = await kndl.cli(['vars', 'demo/hello', 'set', 'KNDL_URL'], { input: 'http://evil' });
  assert.equal(url.code, 2);
  assert.match((await kndl.cli(['vars', '--help'])).stdout, /base64[^]*indentation[^]*disk/);
});

test('BU-10, RD-01: they reach the Sandbox, and are stars in Events and in the CLI', async () => {
  const seen = await inside(session, 'printenv SECRET REPLACED SHARED SHOWN OVER TZ');
  assert.equal(seen.trim(), [stars(SECRET), stars(REPLACED), stars(SHARED), 'two words', 'own', 'Asia/Tokyo'].join('\n'));
  // Truly there: what was transformed is not found, and comes back as it is.
  const digest = await inside(session, 'printf %s "$SECRET$SHARED" | sha256sum | cut -c1-64');
  assert.equal(digest.trim(), crypto.createHash('sha256').update(SECRET + SHARED).digest('hex'));
  const pem = await inside(session, 'printf %s "$PEM" | sha256sum | cut -c1-64; echo "$PEM"');
  assert.equal(pem.split('\n')[0], crypto.createHash('sha256').update(PEM).digest('hex'));
  assert.doesNotMatch(pem, /canary/);
});

const listed = async (name) => (await kndl.json('vars', 'demo/hello')).find((variable) => variable.name === name);
const countOf = async (name) => Number((await listed(name)).masked.count ?? 0);

test('RD-01: how often each was masked is counted, and shown where the name is', async () => {
  const before = await until('SECRET was counted', async () => await countOf('SECRET'));
  await inside(session, 'printenv SECRET SECRET');
  // The Event of the call's output has it twice. What Claude says of it may have it, too.
  await until('it is counted again', async () => (await countOf('SECRET')) >= before + 2);
  const { masked } = await listed('SECRET');
  assert.ok(Math.abs(Number(masked.lastAtMs) - Date.now()) < 120 * 1000, masked.lastAtMs);
  assert.equal((await listed('SHOWN')).masked, undefined);
  assert.match(await kndl.ok('vars', 'demo/hello'), /^SECRET {2}Sensitive .* masked \d+ times, last \d+ s ago$/m);
  assert.match(await kndl.ok('vars', 'shared'), /^SHARED {2}Sensitive {2}Shared .* masked \d+ times?, last/m);
});

test('RD-01, RD-03, RD-07: redaction is tested with a random value, of which nothing stays', async () => {
  const before = await kndl.json('events', session);
  const [result] = lines(await kndl.ok('vars', 'demo/hello', 'test', '--json'));
  const wanted = result.trials.filter((trial) => !trial.knownLimit);
  assert.ok(wanted.length >= 50);
  assert.ok(wanted.every((trial) => trial.masked && trial.text.includes('*******')), JSON.stringify(wanted));
  assert.deepEqual([...new Set(result.trials.filter((trial) => trial.knownLimit).map((trial) => trial.spelling))].sort(),
    ['SPELLING_BASE64', 'SPELLING_INDENTED']);
  assert.ok(result.trials.every((trial) => !trial.knownLimit || !trial.masked));
  // SECRET, REPLACED, ANTHROPIC_API_KEY, PEM, SHARED, whose test it is their setup token, and the
  // three that the harness plants.
  assert.equal(Number(result.valueCount), 6 + 3);
  const words = await kndl.ok('vars', 'demo/hello', 'test');
  assert.match(words, /^tool output +masked .*\*{20}/m);
  assert.match(words, /Known not to be found: base64, wrapped with indentation/);
  assert.deepEqual(await kndl.json('events', session), before);
  const foreign = await kndl.browse(await kndl.signIn('grace'), 'kndl.redactor.v1.RedactorService/TestRedaction',
    { repoName: 'demo/notes' });
  assert.equal(foreign.status, 404);
});

test('RD-01: a prompt that names one is masked, too', async () => {
  await kndl.ok('prompt', session, `the value is ${SECRET}`, '--wait');
  const prompts = (await kndl.json('events', session)).filter((event) => event.prompt);
  assert.match(prompts.at(-1).prompt.text, new RegExp(`^the value is \\*{${SECRET.length}}$`));
});

test('CC-05, CC-06: what kndl sets wins, and an API key never reaches Claude Code', async () => {
  const environ = 'tr "\\0" "\\n" </proc/$PPID/environ';
  const names = (await inside(session, `${environ} | cut -d= -f1 | sort`)).trim().split('\n');
  assert.ok(names.includes('SECRET'));
  assert.ok(!names.includes('ANTHROPIC_API_KEY'));
  assert.match(await inside(session, `${environ} | grep -E "^(DISABLE_AUTOUPDATER|KNDL_URL)=" | sort`),
    /^DISABLE_AUTOUPDATER=1\nKNDL_URL=http:\/\/host\.microsandbox\.internal:\d+/);
  assert.match(await inside(session, 'ls /run/kndl/env 2>&1 || true'), /No such file/);
});

test('RD-02: a change applies at the next wake; what it replaced stays masked until then', async () => {
  const changed = async () => (await kndl.call('kndl.secrets.v1.SecretsService/GetSessionVariables',
    { sessionId: session })).body.changed ?? false;
  assert.equal(await changed(), false);
  const next = `canary-next-${crypto.randomBytes(9).toString('hex')}`;
  await vars(['demo/hello', 'set', 'REPLACED', '--sensitive'], next);
  assert.equal(await changed(), true);
  assert.match(await kndl.ok('show', session), /applies at its next wake:\n {2}REPLACED replaced\n/);
  assert.equal(await countOf('REPLACED'), 0); // a new value begins at 0
  // The old one is still in the Sandbox, and the new one may be typed or fetched by other ways.
  const half = Math.floor(next.length / 2);
  const seen = await inside(session,
    `printenv REPLACED; printf "%s%s\\n" ${next.slice(0, half)} ${next.slice(half)}`);
  assert.equal(seen.trim(), `${stars(REPLACED)}\n${stars(next)}`);
  await kndl.ok('sleep', session);
  await sessions.reaches(session, 'STATE_ASLEEP');
  assert.equal(await changed(), false);
  const digest = await inside(session, 'printf %s "$REPLACED" | sha256sum | cut -c1-64');
  assert.equal(digest.trim(), crypto.createHash('sha256').update(next).digest('hex'));
});

test('a foreign Repo and one that does not exist answer alike', async () => {
  const cookie = await kndl.signIn('grace');
  const ask = (repoName) => kndl.browse(cookie, 'kndl.secrets.v1.SecretsService/ListVariables', { repoName });
  assert.equal((await ask('demo/hello')).status, 200);
  const foreign = await ask('demo/notes');
  const none = await ask('demo/nowhere');
  assert.equal(foreign.status, 404);
  assert.equal(foreign.body.message.replace('notes', ''), none.body.message.replace('nowhere', ''));
});
