// How Claude Code runs in its Sandbox: seen from inside, by commands that it runs itself.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { Kndl } from '../harness/kndl.mjs';
import { Sessions } from '../harness/sessions.mjs';

const TOKEN = 'sk-ant-oat01-planted-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

let kndl;
let sessions;
let session;

const inside = (id, command) => sessions.bash(id, command);

before(async () => {
  kndl = await Kndl.start('claude-code');
  await kndl.setSetupToken(TOKEN);
  sessions = new Sessions(kndl);
  session = await sessions.createActive();
});

after(async () => {
  await kndl?.stop();
});

test('CC-01: as root, in /workspace, in tmux, with the Repo\'s own files', async () => {
  const seen = await inside(session, 'id -u; pwd; echo $IS_SANDBOX; head -1 CLAUDE.md; '
    + 'tr "\\0" "\\n" </proc/$PPID/environ | grep -c ^TMUX=');
  assert.equal(seen.trim(), '0\n/workspace\n1\n# For Claude\n1');
});

test('CC-02: nothing waits for a person, and the config directory is a disk of its own', async () => {
  const seen = await inside(session, 'echo $CLAUDE_CONFIG_DIR; grep -o "hasCompletedOnboarding[^,}]*" '
    + '$CLAUDE_CONFIG_DIR/.claude.json; stat -c %u $CLAUDE_CONFIG_DIR; findmnt -n -o TARGET '
    + '$CLAUDE_CONFIG_DIR || grep -c " /var/lib/kndl/claude " /proc/self/mountinfo');
  const [folder, onboarding, uid, mount] = seen.trim().split('\n');
  assert.equal(folder, '/var/lib/kndl/claude');
  assert.match(onboarding, /true/);
  assert.equal(uid, '0');
  assert.match(mount, /claude|1/);
});

const commandLine = async (id) => (await inside(id, 'tr "\\0" "\\n" </proc/$PPID/cmdline')).split('\n');

test('CC-03: the command line of a new Session, and of one that wakes', async () => {
  const fresh = await commandLine(session);
  assert.ok(fresh.includes('--session-id') && fresh.includes('--dangerously-skip-permissions'));
  assert.equal(fresh.filter((word) => word === '--plugin-dir').length, 2);
  assert.ok(!fresh.includes('--model') && !fresh.includes('--effort') && !fresh.includes('--resume'));

  const other = await sessions.createActive('--model', 'opus', '--effort', 'high');
  const chosen = await commandLine(other);
  assert.equal(chosen[chosen.indexOf('--model') + 1], 'opus');
  assert.equal(chosen[chosen.indexOf('--effort') + 1], 'high');
  const settings = await inside(other, 'cat $CLAUDE_CONFIG_DIR/settings.json');
  assert.doesNotMatch(settings, /model|effort/);
  await kndl.ok('sleep', other);
});

test('CC-04: the mod is read-only, and copied anew for each start', async () => {
  const copy = async () => (await commandLine(session)).find((word) => word.startsWith('/opt/kndl/mod/'));
  const first = await copy();
  assert.match(first, /^\/opt\/kndl\/mod\/[^/]+\/hub-link(-commands)?$/);
  assert.match(await inside(session, `touch ${first}/x 2>&1 || true`), /Read-only|Permission denied/);
  await kndl.ok('sleep', session);
  await sessions.reaches(session, 'STATE_ASLEEP');
  const second = await copy();
  assert.notEqual(path.dirname(second), path.dirname(first));
  assert.ok((await commandLine(session)).includes('--resume'));
});

test('CC-05, CC-06: its environment holds what it must, and nothing of the host\'s', async () => {
  const seen = await inside(session, 'tr "\\0" "\\n" </proc/$PPID/environ | cut -d= -f1 | sort');
  const names = seen.split('\n');
  for (const name of ['KNDL_SESSION_ID', 'CLAUDE_CONFIG_DIR', 'IS_SANDBOX', 'CLAUDE_CODE_DISABLE_AUTO_MEMORY',
    'CLAUDE_CODE_DISABLE_AGENT_VIEW', 'DISABLE_INSTALLATION_CHECKS', 'TZ', 'CLAUDE_CODE_OAUTH_TOKEN', 'KNDL_URL',
    'KNDL_MOD_TOKEN', 'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC', 'DISABLE_AUTOUPDATER'])
    assert.ok(names.includes(name), name);
  for (const name of ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL',
    'CLAUDE_CODE_OAUTH_REFRESH_TOKEN', 'CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX',
    'CLAUDE_CODE_USE_FOUNDRY', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'HUB_NATS_URL', 'RUNNER_HOME'])
    assert.ok(!names.includes(name), name);
});

test('CC-07: Claude Code is read-only, at /opt/kndl/claude-code', async () => {
  const seen = await inside(session, 'readlink /proc/$PPID/exe; touch /opt/kndl/claude-code/x 2>&1 || true');
  assert.match(seen, /^\/opt\/kndl\/claude-code\/claude\n/);
  assert.match(seen, /Read-only|Permission denied/);
});

test('CR-03: the setup token is on no disk, in no argument, and masked where it was printed', async () => {
  const seen = await inside(session, 'tr "\\0" "\\n" </proc/$PPID/environ | grep ^CLAUDE_CODE_OAUTH_TOKEN=');
  assert.doesNotMatch(seen, /planted-A/);
  assert.match(seen, /^CLAUDE_CODE_OAUTH_TOKEN=/);

  // The transcript is the Runner's own disk, and holds what Claude Code itself saw; nothing else may.
  const holders = [];
  const look = (folder) => {
    for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
      const file = path.join(folder, entry.name);
      if (entry.isDirectory()) look(file);
      else if (entry.isFile() && fs.statSync(file).size < 64 * 1024 * 1024
        && fs.readFileSync(file).includes(TOKEN)) holders.push(path.relative(kndl.dir, file));
    }
  };
  for (const folder of ['log', 'nats', 'postgres', 'anthropic', 'github', 'run']) look(path.join(kndl.dir, folder));
  assert.deepEqual(holders, []);
  for (const pid of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    let line = '';
    try {
      line = fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1');
    } catch {
      continue;
    }
    assert.ok(!line.includes(TOKEN), `argv of ${pid}`);
  }
});

test('RE-01, RE-02: the relay answers in the Sandbox\'s own loopback, and asks for a live token', async () => {
  assert.match(await inside(session, 'tr "\\0" "\\n" </proc/$PPID/environ | grep ^KNDL_URL='),
    /^KNDL_URL=http:\/\/host\.microsandbox\.internal:\d+/);
  const url = '$(tr "\\0" "\\n" </proc/$PPID/environ | sed -n s/^KNDL_URL=//p)';
  const code = await inside(session, `curl -sS -o /dev/null -w "%{http_code}" ${url}/mod/commands`);
  assert.match(code, /401/);
});

// The token is turned around on its way out, or it would be masked; and on its way in, since the
// other Session knows nothing of it and would not mask it.
test('two Sandboxes never see each other, nor the host', async () => {
  const other = await sessions.createActive();
  const stolen = await inside(session, 'tr "\\0" "\\n" </proc/$PPID/environ | sed -n s/^KNDL_MOD_TOKEN=//p | base64 -w0 | rev');
  const url = '$(tr "\\0" "\\n" </proc/$PPID/environ | sed -n s/^KNDL_URL=//p)';
  assert.ok(stolen.trim().length >= 32);
  const code = await inside(other,
    `curl -sS -o /dev/null -w "%{http_code}" -H "Authorization: Bearer $(echo ${stolen.trim()} | rev | base64 -d)" ${url}/mod/commands?after=99`);
  assert.match(code, /401/);
  const hub = kndl.facts.hub_url.replace('127.0.0.1', kndl.facts.peer_address.replace(/\d+$/, (n) => n - 1));
  const refused = await inside(session, `curl -sS -m 5 -o /dev/null -w "%{http_code}" ${hub}/health 2>&1 || true`);
  assert.match(refused, /000/);
  const processes = await inside(session, 'ls /proc | grep -c "^[0-9]"');
  assert.ok(Number(processes.trim()) < 40);
});
