// What people see when GitHub changes under a Session, or does not answer: the App suspended,
// removed, a Repo renamed or given to another owner, failures in HTML. AC-05, AC-06, AC-07, GI-06.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

import { Kndl, lines } from '../harness/kndl.mjs';
import { until } from '../harness/until.mjs';

const TTL_MS = 1500;
const API = '^/(api/v3/)?(app|repos|repositories|installation|user)';

let kndl;
let id;

before(async () => {
  kndl = await Kndl.start('github', { env: { KNDL_DEV_REPO_ACCESS_TTL_MS: String(TTL_MS) } });
  id = lines(await kndl.ok('new', 'demo/hello', '--json'))[0].id;
  await reaches('STATE_ACTIVE');
});

after(async () => {
  await kndl?.stop();
});

const show = async () => (await kndl.json('show', id))[0].session;

function reaches(state, code) {
  return until(`the Session is ${state} ${code ?? ''}`, async () => {
    const answer = await kndl.cli(['show', id, '--json']);
    if (answer.code !== 0) return null;
    const [{ session }] = lines(answer.stdout);
    return session.state === state && (!code || session.reasonCode === code) ? session : null;
  });
}

const isGone = () => until('it answers as if it did not exist', async () => {
  const answer = await kndl.cli(['show', id]);
  return answer.code === 3 && /does not exist/.test(answer.stderr);
});

const run = promisify(execFile);

async function inside(...argv) {
  const home = path.join(kndl.facts.run_dir, 'runner');
  const box = fs.readdirSync(path.join(home, 'sandboxes')).find((name) => name.endsWith(id));
  const args = ['--root', path.join(home, 'oci'), 'exec', '--cwd', '/workspace', '--env', 'HOME=/root', box];
  return (await run('runc', [...args, ...argv], { encoding: 'utf8' })).stdout;
}

// Nobody gets at the Repo; once it is back the Session sleeps, says why, and can be woken.
async function awayAndBack(away, back, code) {
  await kndl.github.patch(away);
  await isGone();
  assert.ok(!(await kndl.json('ls')).some((session) => session.id === id));
  const refused = await kndl.cli(['new', 'demo/hello']);
  assert.equal(refused.code, 3);
  assert.match(refused.stderr, /no access to a Repo named demo\/hello/);
  await until('nothing of it runs any more', async () =>
    (await kndl.json('runners'))[0].awakeSessions === undefined);
  await kndl.github.patch(back);
  const asleep = await reaches('STATE_ASLEEP', code);
  assert.match(asleep.reason, /It can be read, and woken once/);
  await until('it can be woken', async () => (await kndl.cli(['wake', id])).code === 0);
  await reaches('STATE_ACTIVE');
}

test('AC-05: a suspended App takes its Sessions to sleep, and the Owner is told', async () => {
  const saying = until('the Owner is told', async () =>
    /The GitHub App is suspended on demo/.test((await kndl.cli(['repos'])).stderr));
  await awayAndBack(
    { installations: { 2001: { suspended_at: '2026-01-01T00:00:00Z' } } },
    { installations: { 2001: { suspended_at: null } } }, 'repo_suspended');
  await saying;
  await until('nothing is to be told any more', async () => (await kndl.cli(['repos'])).stderr === '');
});

test('AC-05: an App taken off the Repo, or a Repo deleted, takes its Sessions to sleep', async () => {
  await awayAndBack(
    { installations: { 2001: { repositories: [3002, 3003] } } },
    { installations: { 2001: { repositories: [3001, 3002, 3003] } } }, 'repo_gone');
});

test('GI-06: a Runner never clones with its host\'s credentials while there is an App', async () => {
  // A clone token is refused, of a Repo for which none is kept; access to it is still believed.
  const refused = [{ path: 'access_tokens', method: 'POST', status: 422, body: { message: 'no' } }];
  const other = await until('a Session is made', async () => {
    await kndl.github.faults([]);
    if (!/demo\/notes/.test((await kndl.cli(['repos'])).stdout)) return null;
    await kndl.github.faults(refused); // the Hub's own token, by which it knows of access, may end just then
    const made = await kndl.cli(['new', 'demo/notes', '--json']);
    return made.code === 0 && lines(made.stdout)[0].id;
  });
  const failed = await until('the start failed', async () => {
    const [{ session }] = await kndl.json('show', other);
    return session.state === 'STATE_FAILED' ? session : null;
  });
  await kndl.github.faults([]);
  assert.equal(failed.reasonCode, 'repo_clone_failed');
  assert.match(failed.reason, /^GitHub gives kndl no token .* installed on it and not suspended, then Retry\.$/);
});

test('AC-07: a GitHub that answers in HTML takes nothing from anybody, and people are told', async () => {
  await kndl.github.faults([{ path: API, status: 502, body: '<html><body>Unicorn!</body></html>' }]);
  await until('people are told', async () =>
    /GitHub does not answer at the moment/.test((await kndl.cli(['repos'])).stderr));
  assert.equal((await show()).state, 'STATE_ACTIVE');
  assert.match((await kndl.cli(['repos'])).stdout, /demo\/hello/);
  await kndl.ok('prompt', id, 'say it-works', '--wait');
  await kndl.github.faults([]);
  await until('it answers again', async () => (await kndl.cli(['repos'])).stderr === '');
});

test('a renamed Repo has its new name everywhere, and its Sandbox\'s origin still works', async () => {
  await kndl.github.patch({ repos: { 3001: { full_name: 'demo/hi', old_names: ['demo/hello'] } } });
  await until('the Session has the new name', async () => (await show()).repoName === 'demo/hi');
  assert.match((await kndl.cli(['ls'])).stdout, /demo\/hi/);
  assert.match((await kndl.cli(['repos'])).stdout, /demo\/hi/);
  assert.match((await inside('git', 'remote', 'get-url', 'origin')).trim(), /demo\/hello\.git$/);
  await inside('git', 'fetch', '-q');
  await inside('git', 'checkout', '-q', '-b', 'after-the-rename');
  await inside('git', 'commit', '-q', '--allow-empty', '-m', 'pushed under the old name');
  await inside('git', 'push', '-q', 'origin', 'after-the-rename');
  assert.equal((await show()).state, 'STATE_ACTIVE');
});

test('AC-05: a Repo given to another owner with the App stays everybody\'s, and its awake Sandbox has the new token', async () => {
  await kndl.github.patch({
    users: { other: { id: 510, type: 'Organization', name: 'Other' } },
    installations: {
      2001: { repositories: [3002, 3003] },
      2002: { account: 'other', repositories: [3001], permissions: { metadata: 'read', contents: 'write' } },
    },
    repos: { 3001: { full_name: 'other/hi', old_names: ['demo/hello', 'demo/hi'] } },
  });
  await until('the Session has the new name', async () => {
    const answer = await kndl.cli(['show', id, '--json']);
    assert.equal(answer.code, 0, answer.stderr);
    return lines(answer.stdout)[0].session.repoName === 'other/hi';
  });
  await until('git works with the new token', () => inside('git', 'fetch', '-q').then(() => true, () => false));
  assert.equal((await show()).state, 'STATE_ACTIVE');
});
