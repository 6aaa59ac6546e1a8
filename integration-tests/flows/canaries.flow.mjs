// That the search at each flow's end finds what it looks for: credentials are leaked on purpose, one
// into each kind of place, each in another form. And what keeps them out of cores: faults 39 and 40.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { credsAuthenticator, connect, headers } from '@nats-io/transport-node';

import { Kndl, lines } from '../harness/kndl.mjs';
import { Viewer } from '../harness/socket.mjs';
import { until } from '../harness/until.mjs';

// Each holds a key or credentials, and crashes as these do.
const CRASHES = { secrets: 'SIGSEGV', 'repo-access': 'SIGABRT', sessions: 'SIGSEGV', 'runner-agent': 'SIGABRT' };

let kndl;
let sleeper;

before(async () => {
  kndl = await Kndl.start('canaries');
});

after(async () => {
  sleeper?.kill();
  await kndl?.stop();
});

const read = (file) => fs.readFileSync(path.join(kndl.dir, file), 'utf8').trim();
const base64 = (text) => Buffer.from(text).toString('base64');

test('faults 40, CR-06: a service that holds a key locks it, and leaves no core when it crashes', async () => {
  const programs = await kndl.programs();
  await Promise.all(Object.entries(CRASHES).map(([name, signal]) => {
    const status = fs.readFileSync(`/proc/${programs.get(name).pid}/status`, 'utf8');
    // The address sanitizer makes mlock() do nothing; crypt.secret tries a refused one in each build.
    if (!kndl.isSanitized) assert.ok(Number(/^VmLck:\s+(\d+) kB/m.exec(status)[1]) > 0, `${name} locks nothing`);
    return kndl.kill(name, signal);
  }));
  await kndl.ready();
  assert.deepEqual(kndl.canaries.cores(), []);
});

// In SQL as ./dev, the superuser, writes it.
function sql(text) {
  execFileSync('psql', ['-X', '-q', '-h', '127.0.0.1', '-p', String(kndl.facts.postgres_port), '-U', 'postgres',
    '-d', 'kndl', '-f', '-'], {
    input: text,
    env: { PATH: process.env.PATH, PGPASSWORD: read('keys/postgres-postgres').split(':')[4] },
  });
}

async function leakOnNats(secret) {
  const nats = await connect({
    servers: `127.0.0.1:${kndl.facts.nats_port}`,
    authenticator: credsAuthenticator(fs.readFileSync(path.join(kndl.dir, 'nats/creds/sessions.creds'))),
  });
  const carried = headers();
  carried.set('leaked', base64(secret));
  nats.publish('kndl.live.header.event', '', { headers: carried });
  nats.publish(`kndl.live.${secret}.event`, `{"leaked":${JSON.stringify(secret)}}`);
  await nats.flush();
  await nats.close();
}

test('CR-05, CR-06, RD-01, faults 39: what is leaked is found, wherever that is', async () => {
  const secrets = {
    runner: read('keys/runner-token'),
    cli: JSON.parse(read('cli.json')).token,
    key: read('keys/secrets-key').split(' ')[1],
    app: read('keys/github-app.pem').split('\n')[3],
    client: read('keys/github-client-secret'),
  };
  // A Session that prints what is none of its values shows it, stores it and hands it to viewers.
  const shown = await kndl.ok('new', 'demo/hello', '--prompt', `say ${secrets.client}`, '--wait', '--json');
  const viewer = new Viewer(kndl, await kndl.signIn(), lines(shown)[0].id);
  await until('a viewer saw it', () => viewer.view);
  viewer.close();
  await leakOnNats(secrets.runner);
  await kndl.hub(`/auth/methods?token=${encodeURIComponent(secrets.app)}`);
  sql(`CREATE TABLE leaked (bytes bytea); INSERT INTO leaked VALUES ('\\x${Buffer.from(secrets.cli).toString('hex')}')`);
  fs.writeFileSync(path.join(kndl.dir, 'log/leak.log'), `{"leaked":"${base64(`key=${secrets.key}`)}"}\n`);
  fs.mkdirSync(path.join(kndl.dir, 'runner/sessions/leak'), { recursive: true });
  fs.writeFileSync(path.join(kndl.dir, 'runner/sessions/leak/state'), `token ${secrets.cli}`);
  fs.writeFileSync(path.join(kndl.facts.run_dir, 'core'), 'a core');
  sleeper = spawn('sleep', ['600'], { argv0: `sleep-${secrets.cli}`, env: { LEAKED: secrets.runner } });
  await until('it sleeps', () => fs.readFileSync(`/proc/${sleeper.pid}/cmdline`, 'latin1').startsWith('sleep-'));

  const { canaries } = kndl;
  kndl.canaries = undefined;
  const error = await canaries.check({ unsaid: ['setup token', 'Session token'] })
    .then(() => assert.fail('nothing was found'), (thrown) => thrown);
  const client = 'GitHub App\'s client secret';
  for (const [kind, place, form] of [
    ['Runner token', 'nats:subject', 'plain'],
    ['Runner token', 'nats:header of live event message', 'base64'],
    ['Runner token', 'nats:message live event', 'plain'],
    ['Runner token', 'process:outside environ sleep', 'plain'],
    ['CLI token', 'process:outside cmdline sleep', 'plain'],
    ['CLI token', 'database dump', 'hex'],
    ['CLI token', 'postgres:sent', 'hex'],
    ['CLI token', 'file:postgres/', 'plain'],
    ['CLI token', 'file:runner/sessions/leak/state', 'plain'],
    ['HUB_SECRETS_KEY', 'file:log/leak.log', 'base64'],
    ['GitHub App\'s private key', 'http:url', 'line 4, '],
    [client, 'database dump', ''],
    [client, 'nats:request SessionsInternalService.AppendEvents', 'plain'],
    [client, 'http:answer to POST /kndl.sessions.v1.SessionsService/', 'plain'],
    [client, 'http:frames', 'plain'],
    [client, 'shown:kndl new', 'plain'],
  ])
    assert.ok(error.message.split('\n').some((line) =>
      line.startsWith(`${kind} in ${place}`) && line.includes(`(${form}`)), `${kind} in ${place} was not found`);
  assert.match(error.message, /^a core: .*\/core$/m);
  // CR-03: its own run leaves neither on any disk, said or not.
  assert.doesNotMatch(error.message, /^(setup|Session) token in /m);
  for (const secret of Object.values(secrets)) assert.ok(!error.message.includes(secret));
});
