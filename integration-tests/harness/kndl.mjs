// A whole kndl of a test's own: ./dev up in a folder, with ports, uids and names of its own, the
// build with the sanitizers, and the stand-ins for Anthropic and GitHub.

import { execFile, execFileSync, spawn } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { Canaries } from '../canaries/canaries.mjs';
import { until } from './until.mjs';

export const ROOT = fs.realpathSync(fileURLToPath(new URL('../..', import.meta.url)));
const SCENARIOS = path.join(ROOT, 'integration-tests/peers/anthropic/scenarios');
const UP_MS = 10 * 60 * 1000;
const CLI_MS = 2 * 60 * 1000;

// Nothing of the caller's environment but where downloads are kept.
function environment(dir, extra) {
  return {
    PATH: `${path.join(ROOT, '.dev/node/bin')}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
    HOME: path.join(dir, 'home'),
    LANG: 'C.UTF-8',
    KNDL_DEV_DIR: dir,
    KNDL_DEV_CACHE: process.env.KNDL_DEV_CACHE ?? path.join(ROOT, '.dev/cache'),
    KNDL_DEV_PRESET: process.env.KNDL_DEV_PRESET ?? 'dev',
    KNDL_DEV_NO_BUILD: '1',
    ...extra,
  };
}

function run(file, args, { env, input, timeoutMs }) {
  return new Promise((resolve) => {
    const child = execFile(file, args,
      { env, cwd: ROOT, timeout: timeoutMs, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        const code = error ? error.code ?? `killed by ${error.signal}` : 0;
        resolve({ code, stdout, stderr });
      });
    child.stdin.end(input ?? '');
  });
}

function request(url, { method = 'GET', body, headers = {}, ca } = {}) {
  return new Promise((resolve, reject) => {
    const isTls = url.startsWith('https:');
    const options = { method, headers, ca, servername: 'api.anthropic.com', agent: false };
    const req = (isTls ? https : http).request(url, options, (res) => {
      const chunks = [];
      res.on('data', (chunk) => chunks.push(chunk));
      res.on('error', reject);
      res.on('end', () => resolve({
        status: res.statusCode,
        headers: res.headers,
        text: Buffer.concat(chunks).toString('utf8'),
      }));
    });
    req.on('error', reject);
    req.end(body);
  });
}

async function control(url, options) {
  const answer = await request(url, options);
  if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${answer.text}`);
  return JSON.parse(answer.text);
}

const ofRule = (rule) => (rule === undefined ? '' : `?rule=${encodeURIComponent(rule)}`);

// The stand-in for Anthropic, from the test's side.
class Anthropic {
  constructor(kndl) {
    this.kndl = kndl;
    this.url = `https://${kndl.facts.peer_address}/__fake`;
    this.ca = fs.readFileSync(path.join(kndl.dir, 'tls/ca.pem'));
  }

  log(after = 0) {
    return control(`${this.url}/log?after=${after}`, { ca: this.ca });
  }

  // Lets every block that is held go on, or those of a rule.
  release(rule) {
    return control(`${this.url}/release${ofRule(rule)}`, { ca: this.ca, method: 'POST' });
  }

  // How many blocks are held now.
  async held(rule) {
    return (await control(`${this.url}/health${ofRule(rule)}`, { ca: this.ca })).held;
  }

  // A scenario's name, or the scenario itself; it holds from the next request on.
  use(scenario) {
    const link = path.join(this.kndl.dir, 'anthropic/scenario.json');
    let file = path.join(SCENARIOS, `${scenario}.json`);
    if (typeof scenario !== 'string') {
      file = path.join(this.kndl.dir, 'anthropic/own.json');
      const base = JSON.parse(fs.readFileSync(path.join(SCENARIOS, 'all.json'), 'utf8'));
      fs.writeFileSync(file, JSON.stringify({ ...base, ...scenario }));
    }
    fs.rmSync(`${link}.new`, { force: true });
    fs.symlinkSync(file, `${link}.new`);
    fs.renameSync(`${link}.new`, link);
  }
}

// The stand-in for GitHub, from the test's side.
class GitHub {
  constructor(kndl) {
    this.url = `http://${kndl.facts.peer_address}`;
  }

  log(after = 0) {
    return control(`${this.url}/__fake/log?after=${after}`);
  }

  // A JSON merge patch of the state; integration-tests/peers/github/demo.json is its form.
  patch(state) {
    return control(`${this.url}/__fake/state`, { method: 'PATCH', body: JSON.stringify(state) });
  }

  faults(list) {
    return control(`${this.url}/__fake/faults`, { method: 'PUT', body: JSON.stringify(list) });
  }
}

export class Kndl {
  // Starts a fresh one. `env` goes to ./dev up; `scenario` as in Anthropic.use(); with
  // `runnerDiskMib` the Runner's home is a disk of that size. With `canaries` values are planted,
  // and stop() fails where one of them is found that must not be there.
  static async start(name, { scenario = 'all', env = {}, runnerDiskMib, canaries = true } = {}) {
    const kndl = new Kndl();
    kndl.dir = path.join(ROOT, '.dev/flow', name);
    kndl.extra = env;
    kndl.disk = path.join(kndl.dir, 'runner');
    if (fs.existsSync(kndl.dir)) {
      await kndl.stop();
      fs.rmSync(kndl.dir, { recursive: true, force: true });
    }
    fs.mkdirSync(path.join(kndl.dir, 'home'), { recursive: true });
    // A checkout may lie where only root can walk, such as /root.
    fs.chmodSync(path.dirname(kndl.dir), 0o700);
    if (runnerDiskMib) kndl.mountDisk(runnerDiskMib);
    if (canaries) {
      await kndl.readFacts();
      kndl.canaries = await Canaries.start(kndl);
    }
    await kndl.up();
    kndl.anthropic.use(scenario);
    if (canaries && env.KNDL_DEV_LOGIN !== 'off')
      await kndl.canaries.plant((method, message) => kndl.call(method, message));
    return kndl;
  }

  // Where this kndl is, or will be.
  async readFacts() {
    const { stdout } = await this.dev(['facts']);
    this.facts = JSON.parse(stdout);
  }

  async up(extra = {}) {
    const up = await this.dev(['up'], { env: extra, timeoutMs: UP_MS });
    if (up.code !== 0)
      throw new Error(`./dev up failed (${up.code}):\n${up.stdout}\n${up.stderr}\n${this.tail()}`);
    await this.readFacts();
    this.isUp = true;
    this.anthropic = new Anthropic(this);
    this.github = new GitHub(this);
    return up;
  }

  // An ext4 of its own, in a file.
  mountDisk(mib) {
    const image = path.join(this.dir, 'disk.img');
    fs.closeSync(fs.openSync(image, 'w'));
    fs.truncateSync(image, mib * 1024 * 1024);
    fs.mkdirSync(this.disk);
    execFileSync('/usr/sbin/mkfs.ext4', ['-q', '-m', '0', image]);
    execFileSync('/usr/bin/mount', ['-o', 'loop', image, this.disk]);
  }

  // The files stay, for whoever looks into why a test failed.
  async stop() {
    const canaries = this.isUp ? this.canaries : undefined;
    this.canaries = undefined;
    this.isUp = false;
    try {
      await canaries?.check();
    } finally {
      await this.down();
    }
  }

  async down() {
    const down = await this.dev(['down'], { timeoutMs: UP_MS });
    if (down.code !== 0) throw new Error(`./dev down failed:\n${down.stdout}\n${down.stderr}`);
    this.leaveSlot();
    const mounts = fs.readFileSync('/proc/self/mountinfo', 'utf8');
    if (mounts.includes(` ${this.disk} `)) execFileSync('/usr/bin/umount', [this.disk]);
  }

  // Its slot is another test's now; it may be already, if this is the second time.
  leaveSlot() {
    const claim = `/run/kndl-dev/${fs.readFileSync(path.join(this.dir, 'slot'), 'utf8').trim()}.claim`;

    if (fs.lstatSync(claim, { throwIfNoEntry: false }) && fs.readlinkSync(claim) === this.dir) fs.rmSync(claim);
  }

  async dev(args, { env = {}, input, timeoutMs = CLI_MS } = {}) {
    const whole = environment(this.dir, { ...this.extra, ...env });
    const done = await run(path.join(ROOT, 'dev'), args, { env: whole, input, timeoutMs });
    this.canaries?.show(args.slice(0, 2).join(' '), done.stdout, done.stderr);
    return done;
  }

  // The kndl command, signed in as the Owner: {code, stdout, stderr}.
  cli(args, options = {}) {
    return this.dev(['kndl', ...args], options);
  }

  // The same, which must succeed: its standard output.
  async ok(...args) {
    const done = await this.cli(args);
    if (done.code !== 0)
      throw new Error(`kndl ${args.join(' ')}: exit ${done.code}\n${done.stdout}\n${done.stderr}`);
    return done.stdout;
  }

  // With --json: one object a line.
  async json(...args) {
    return lines(await this.ok(...args, '--json'));
  }

  // A kndl command that goes on; the caller ends it.
  spawnCli(args, { input = '' } = {}) {
    const child = spawn(path.join(ROOT, 'dev'), ['kndl', ...args],
      { env: environment(this.dir, this.extra), cwd: ROOT, stdio: ['pipe', 'pipe', 'pipe'] });
    child.stdin.end(input);
    return child;
  }

  // A kndl command that needs a yes in the browser: `decide` gets the code that it shows. Then
  // {code, stdout, stderr}.
  async confirmedCli(args, decide, options) {
    const child = this.spawnCli(args, options);
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'])
      child[name].setEncoding('utf8').on('data', (chunk) => { said[name] += chunk; });
    const ended = new Promise((resolve) => child.on('close', resolve));
    await decide(await until('the code is shown', () => /\/device#([A-Z]{4}-[A-Z]{4})/.exec(said.stderr)?.[1]));
    return { code: await ended, ...said };
  }

  // Whether its programs are built with the address sanitizer.
  get isSanitized() {
    return this.facts.build.endsWith('/dev');
  }

  // A request to the Hub; `path` begins with /.
  hub(where, options) {
    return request(`${this.facts.hub_url}${where}`, options);
  }

  // A public method as the Owner, by Connect's JSON: {status, body}.
  async call(method, message, { token = this.token() } = {}) {
    const answer = await this.hub(`/${method}`, {
      method: 'POST',
      body: JSON.stringify(message),
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    });
    return { status: answer.status, body: answer.text ? JSON.parse(answer.text) : null };
  }

  // The cookie of a browser that `login` signed in with.
  async signIn(login = 'ada') {
    const answer = await this.hub('/auth/dev', {
      method: 'POST',
      body: JSON.stringify({ login, client: 'web' }),
      headers: { 'content-type': 'application/json', origin: this.facts.hub_url },
    });
    if (answer.status !== 200) throw new Error(`sign-in of ${login}: ${answer.status} ${answer.text}`);
    return answer.headers['set-cookie'][0].split(';')[0];
  }

  // A public method as a browser calls it: {status, body}.
  async browse(cookie, method, message) {
    const answer = await this.hub(`/${method}`, {
      method: 'POST',
      body: JSON.stringify(message),
      headers: { 'content-type': 'application/json', origin: this.facts.hub_url, cookie },
    });
    return { status: answer.status, body: answer.text ? JSON.parse(answer.text) : null };
  }

  // The Owner's setup token; without one it is removed.
  async setSetupToken(token) {
    const cookie = await this.signIn();
    const method = `kndl.secrets.v1.SecretsService/${token ? 'Set' : 'Remove'}SetupToken`;
    const requestId = `test-${crypto.randomUUID()}`;
    const answer = await this.browse(cookie, method, token ? { requestId, token } : { requestId });
    if (answer.status !== 200) throw new Error(`${method}: ${JSON.stringify(answer)}`);
  }

  // Without dev login ./dev up has no Owner to register the Runner as: theirs is `cookie`.
  async registerRunner(cookie) {
    const answer = await this.browse(cookie, 'kndl.sessions.v1.RunnersService/RegisterRunner',
      { requestId: crypto.randomUUID(), name: 'this machine' });
    if (answer.status !== 200) throw new Error(`RegisterRunner: ${JSON.stringify(answer)}`);
    await this.giveRunnerToken(answer.body.token);
    await this.canaries?.plant((method, message) => this.browse(cookie, method, message));
  }

  async giveRunnerToken(token) {
    fs.writeFileSync(path.join(this.dir, 'keys/runner-token'), token, { mode: 0o600 });
    await this.up();
  }

  token() {
    return JSON.parse(fs.readFileSync(path.join(this.dir, 'cli.json'), 'utf8')).token;
  }

  // name → {state, pid, restarts}
  async programs() {
    const answer = await this.dev(['programs']);
    const rows = answer.stdout.trim().split('\n').slice(1).map((line) => line.split(' '));
    return new Map(rows.map(([name, state, pid, , restarts]) =>
      [name, { state, pid: Number(pid), restarts: Number(restarts) }]));
  }

  // kill -9, or another signal; returns once the supervisor has it running again.
  async kill(name, signal = 'SIGKILL') {
    const before = (await this.programs()).get(name);
    if (!(before?.pid > 1)) throw new Error(`${name} does not run`);
    process.kill(before.pid, signal);
    await until(`${name} runs again`, async () => {
      const now = (await this.programs()).get(name);
      return now.state === 'running' && now.pid !== before.pid;
    });
  }

  async program(verb, name) {
    await this.dev([verb, name]);
    const wanted = verb === 'stop' ? 'stopped' : 'running';
    await until(`${name} is ${wanted}`,
      async () => (await this.programs()).get(name).state === wanted);
  }

  // Gives a program another value of a setting, and restarts it with that; the one it had before.
  async setEnv(name, variable, value) {
    const file = path.join(this.dir, 'plan');
    const parts = fs.readFileSync(file, 'utf8').split(/^(?=program )/m);
    const at = parts.findIndex((part) => part.startsWith(`program ${name}\n`));
    const line = new RegExp(`^  env ${variable}=(.*)\n`, 'm');
    const before = line.exec(parts[at])?.[1] ?? '';
    parts[at] = parts[at].replace(line, '').trimEnd() + `\n  env ${variable}=${value}\n\n`;
    fs.writeFileSync(file, parts.join(''));
    execFileSync(path.join(this.facts.build, 'bin/kndl-supervisor'),
      ['--ask', path.join(this.facts.run_dir, 'supervisor.sock'), 'reload']);
    await this.program('start', name);
    return before;
  }

  // What a service's role says to a statement, unaligned.
  sql(role, statement) {
    const psql = fs.readdirSync('/usr/lib/postgresql').map((v) => `/usr/lib/postgresql/${v}/bin/psql`)[0];
    return execFileSync(psql,
      [`postgresql://${role}@127.0.0.1:${this.facts.postgres_port}/kndl`, '-qAtc', statement],
      { encoding: 'utf8', env: { PGPASSFILE: path.join(this.facts.run_dir, `${role}/pgpass`) } }).trim();
  }

  ready() {
    return until('the Hub is ready', async () => {
      const answer = await this.hub('/health').catch(() => null);
      return answer?.status === 200 && JSON.parse(answer.text).ready === true;
    });
  }

  // The last lines of each log, for a failing test's message.
  tail(count = 5) {
    const logs = path.join(this.dir, 'log');
    if (!fs.existsSync(logs)) return '';
    return fs.readdirSync(logs).filter((file) => file.endsWith('.log')).map((file) => {
      const text = fs.readFileSync(path.join(logs, file), 'utf8').trimEnd().split('\n');
      return `--- ${file}\n${text.slice(-count).join('\n')}`;
    }).join('\n');
  }
}

export function lines(text) {
  return text.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line));
}
