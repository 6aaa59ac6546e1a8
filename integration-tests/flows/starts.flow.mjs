// Starts that fail for reasons that only real services can have: docs/failures.md has a row for each.
// A state, a reason code and a sentence that says what to do; Retry works once the cause is gone.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { Kndl } from '../harness/kndl.mjs';
import { Sessions } from '../harness/sessions.mjs';
import { until } from '../harness/until.mjs';

const TOKEN = 'sk-ant-oat01-right-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
const GIT = { path: '/demo/hello.git/info/refs' };

let kndl;
let sessions;

before(async () => {
  kndl = await Kndl.start('starts');
  sessions = new Sessions(kndl);
});

after(async () => {
  await kndl?.stop();
});

// Waits until the newest step of the Session's start is this one.
function isAt(session, step) {
  return until(`${session} is at ${step}`, async () =>
    (await sessions.show(session)).steps?.some((entry) => entry.name === step));
}

test('image_missing: RUNNER_DEFAULT_IMAGE names nothing', async () => {
  const image = await kndl.setEnv('runner-agent', 'RUNNER_DEFAULT_IMAGE', '/nowhere');
  const session = await sessions.create();
  await sessions.failsWith(session, 'image_missing', /RUNNER_DEFAULT_IMAGE.*Retry\.$/s);
  await kndl.setEnv('runner-agent', 'RUNNER_DEFAULT_IMAGE', image);
  await sessions.retryWorks(session);
});

test('sandbox_failed: the OCI runtime does not work', async () => {
  await kndl.setEnv('runner-agent', 'RUNNER_OCI_RUNTIME', '/bin/false');
  const session = await sessions.create();
  await sessions.failsWith(session, 'sandbox_failed', /log of the Runner.*Retry\.$/s);
  await kndl.setEnv('runner-agent', 'RUNNER_OCI_RUNTIME', '');
  await sessions.retryWorks(session);
});

test('setup_token_unavailable: what is kept of it cannot be opened any more', async () => {
  kndl.sql('secrets', "UPDATE secrets.setup_token SET sealed = '\\x00' WHERE sealed IS NOT NULL");
  const session = await sessions.create();
  await sessions.failsWith(session, 'setup_token_unavailable', /set the setup token.*again, then Retry\.$/);
  await kndl.setSetupToken(TOKEN);
  await sessions.retryWorks(session);
});

async function setColour(input) {
  const done = await kndl.cli(['vars', 'demo/hello', 'set', 'COLOUR', '--sensitive'], { input });
  assert.equal(done.code, 0, done.stderr);
}

test('variables_unavailable: a Variable that cannot be opened any more', async () => {
  await setColour('green-apple');
  kndl.sql('secrets', "UPDATE secrets.variable SET sealed = '\\x00' WHERE name = 'COLOUR'");
  const session = await sessions.create();
  await sessions.failsWith(session, 'variables_unavailable', /the Variable, again, then Retry\.$/);
  await setColour('blue-berry');
  await sessions.retryWorks(session);
});

const VERSION = '2.1.332';

// The Runner without its Claude Code, whose npm asks this registry, while `body` runs.
async function withRegistry(registry, body) {
  const folder = path.join(kndl.dir, 'runner/claude-code');
  const kept = path.join(kndl.dir, 'claude-code.kept');
  fs.renameSync(folder, kept);
  fs.mkdirSync(folder);
  fs.writeFileSync(path.join(folder, 'package.json'), '{}'); // so that npm reads the next one
  fs.writeFileSync(path.join(folder, '.npmrc'), `registry=${registry}\n`);
  try {
    await body(folder);
  } finally {
    fs.rmSync(folder, { recursive: true });
    fs.renameSync(kept, folder);
  }
}

const left = (folder) => fs.readdirSync(folder).filter((name) => !['package.json', '.npmrc'].includes(name));

test('claude_download_failed: the npm registry cannot be reached', async () => {
  let session;
  await withRegistry('http://127.0.0.1:1/', async (folder) => {
    session = await sessions.create();
    await sessions.failsWith(session, 'claude_download_failed', /npm registry, then Retry\.$/);
    assert.deepEqual(left(folder), []);
  });
  await sessions.retryWorks(session);
});

// A package of that name and version with something else in it.
function otherPackage() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'kndl-package-'));
  fs.mkdirSync(path.join(folder, 'package'));
  fs.writeFileSync(path.join(folder, 'package/claude'), '#!/bin/sh\n');
  fs.writeFileSync(path.join(folder, 'package/package.json'),
    JSON.stringify({ name: '@anthropic-ai/claude-code-linux-x64', version: VERSION }));
  const bytes = execFileSync('tar', ['-C', folder, '-cz', 'package']);
  fs.rmSync(folder, { recursive: true });
  return bytes;
}

test('claude_download_failed: what came has another hash, and nothing of it is kept', async () => {
  const tarball = otherPackage();
  const integrity = `sha512-${crypto.createHash('sha512').update(tarball).digest('base64')}`;
  const registry = http.createServer((req, res) => {
    const url = `http://127.0.0.1:${registry.address().port}`;
    const dist = { tarball: `${url}/claude.tgz`, integrity };
    const name = '@anthropic-ai/claude-code-linux-x64';
    const known = { name, 'dist-tags': { latest: VERSION }, versions: { [VERSION]: { name, version: VERSION, dist } } };
    res.end(req.url === '/claude.tgz' ? tarball : JSON.stringify(known));
  });
  await new Promise((resolve) => registry.listen(0, '127.0.0.1', resolve));
  let session;
  await withRegistry(`http://127.0.0.1:${registry.address().port}/`, async (folder) => {
    session = await sessions.create();
    await sessions.failsWith(session, 'claude_download_failed', /thrown away\. Retry/);
    assert.deepEqual(left(folder), []);
  });
  registry.close();
  await sessions.retryWorks(session);
});

test('hub_refused: another run took its place', async () => {
  kndl.sql('secrets', `CREATE FUNCTION secrets.newer_run() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN NEW.run := NEW.run + 1; RETURN NEW; END';
    CREATE TRIGGER newer_run BEFORE INSERT OR UPDATE ON secrets.assignment
    FOR EACH ROW EXECUTE FUNCTION secrets.newer_run()`);
  const session = await sessions.create();
  await sessions.failsWith(session, 'hub_refused', /another one took its place\. Retry\.$/);
  kndl.sql('secrets', `DROP TRIGGER newer_run ON secrets.assignment; DROP FUNCTION secrets.newer_run();
    UPDATE secrets.assignment SET run = 1, phase = 1 WHERE session_id = '${session}'`);
  await sessions.retryWorks(session);
});

test('runner_restarted: the Runner is killed in the middle of a start', async () => {
  await kndl.github.faults([{ ...GIT, hang: true }]);
  const session = await sessions.create();
  await isAt(session, 'clone');
  await kndl.kill('runner-agent');
  await sessions.failsWith(session, 'runner_restarted', /restarted/);
  await kndl.github.faults([]);
  await sessions.retryWorks(session);
});

test('a start that is not wanted any more ends in the middle of a clone that hangs', async () => {
  await kndl.github.faults([{ ...GIT, hang: true }]);
  const session = await sessions.create();
  const workspace = path.join(kndl.dir, 'runner/sessions', session, 'workspace.cloning');
  await until('the clone has begun', async () => fs.existsSync(workspace));
  await kndl.setSetupToken(null);
  const asleep = await sessions.reaches(session, 'STATE_ASLEEP');
  assert.equal(asleep.reasonCode, 'setup_token_removed');
  assert.ok(!fs.existsSync(workspace));
  await kndl.github.faults([]);
  await kndl.setSetupToken(TOKEN);
  await sessions.retryWorks(session);
});

test('run_lost: the Runner comes back without what it ran', async () => {
  const session = await sessions.create();
  await sessions.reaches(session, 'STATE_ACTIVE');
  await kndl.program('stop', 'runner-agent');
  fs.rmSync(path.join(kndl.dir, 'runner/sessions', session, 'state'));
  await kndl.program('start', 'runner-agent');
  const asleep = await sessions.reaches(session, 'STATE_ASLEEP');
  assert.equal(asleep.reasonCode, 'run_lost');
  assert.match(asleep.reason, /A prompt wakes it\.$/);
  await kndl.ok('prompt', session, 'say it-works', '--wait');
});
