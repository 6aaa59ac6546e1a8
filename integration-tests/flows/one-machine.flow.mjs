// ./dev up: one supervisor that starts again what ended; run again, nothing is restarted; down,
// nothing is left.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { Kndl } from '../harness/kndl.mjs';
import { until } from '../harness/until.mjs';

let kndl;

before(async () => {
  kndl = await Kndl.start('one-machine');
});

after(async () => {
  await kndl?.stop();
});

const pids = async () => new Map([...await kndl.programs()].map(([name, { pid }]) => [name, pid]));

// Every process whose environment or arguments name this kndl's folders.
function processesOf(needle) {
  return fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)).filter((name) => {
    try {
      return fs.readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(needle);
    } catch {
      return false;
    }
  });
}

test('run again, ./dev up keeps each process', async () => {
  const before_ = await pids();
  await kndl.up();
  assert.deepEqual(await pids(), before_);
});

test('another scenario takes effect at the next ./dev up, without a restart', async () => {
  const before_ = await pids();
  const file = path.join(kndl.dir, 'other.json');
  fs.writeFileSync(file, JSON.stringify({ http: [{ path: '^/which', body: { it: 'is the other' } }] }));
  await kndl.up({ KNDL_DEV_SCENARIO: file });
  assert.deepEqual(await pids(), before_);
  assert.equal(fs.realpathSync(path.join(kndl.dir, 'anthropic/scenario.json')), file);
});

test('what ends is started again, and ./dev status says how often', async () => {
  for (const name of (await kndl.programs()).keys()) {
    const earlier = (await kndl.programs()).get(name);
    await kndl.kill(name);
    const now = (await kndl.programs()).get(name);
    assert.ok(now.restarts > earlier.restarts, name);
  }
  await kndl.ready();
  const status = await kndl.dev(['status']);
  assert.equal(status.code, 0);
  assert.match(status.stdout, /postgres +running +\d+ .* [1-9]\d* +answers/);
});

test('nothing of this machine\'s environment reaches what runs', async () => {
  const allowed = /^(PATH|HOME|LANG|TZ|ASAN_OPTIONS|UBSAN_OPTIONS|(HUB|RUNNER|GITHUB|PG)_?[A-Z_]*)=/;
  for (const [name, { pid }] of await kndl.programs()) {
    const environment = fs.readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean);
    assert.deepEqual(environment.filter((entry) => !allowed.test(entry)), [], name);
  }
});

test('each Hub service has a uid of its own, and no privilege', async () => {
  const services = ['secrets', 'repo-access', 'redactor', 'sessions', 'api-gateway'];
  const uids = [];
  for (const [name, { pid }] of await kndl.programs()) {
    if (!services.includes(name)) continue;
    const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
    uids.push(Number(/^Uid:\t(\d+)/m.exec(status)[1]));
    assert.match(status, /^CapEff:\t0+$/m, name);
    assert.match(status, /^NoNewPrivs:\t1$/m, name);
  }
  assert.equal(new Set(uids).size, uids.length);
  assert.ok(uids.every((uid) => uid > 0));
});

test('./dev down leaves no process, namespace or mount', async () => {
  await kndl.stop();
  await until('all processes are gone', () => processesOf(`${kndl.dir}/`).length === 0);
  const mounts = fs.readFileSync('/proc/self/mountinfo', 'utf8');
  assert.ok(!mounts.includes(`${kndl.dir}/`));
  const namespaces = fs.existsSync('/run/netns') ? fs.readdirSync('/run/netns') : [];
  assert.deepEqual(namespaces.filter((name) => name.startsWith(`${kndl.facts.name}-`)), []);
  assert.equal((await kndl.dev(['status'])).code, 3);
});
