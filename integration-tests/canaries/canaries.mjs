// Planted values in a kndl of a test's own, and the search for them at its end: everything that the
// Hub and the Runner wrote, sent or showed while it ran. allowed.mjs says where each may be.

import { execFile } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { isAllowed } from './allowed.mjs';
import { openMemories, readProcesses } from './processes.mjs';
import { search } from './search.mjs';
import { Tap } from './tap.mjs';
import { Values } from './values.mjs';
import { readWire } from './wire.mjs';

const SERVICES = ['secrets', 'repo-access', 'redactor', 'sessions', 'api-gateway', 'runner-agent'];
const SECRETS = 'kndl.secrets.v1.SecretsService';
const DUMP_BYTES_MAX = 512 * 1024 * 1024;
const SHOWN_MAX = 200;

// Nothing of kndl's wrote these: Node and Claude Code as they were downloaded, the page as it was
// built, the disk that is looked at where it is mounted.
const NOT_OURS = new Set(['node', 'runner', 'disk.img', 'tap']);
const NOT_THE_RUNNERS = new Set(['claude-code']);
const NOT_OURS_RUN = new Set(['web', 'runner']);

const random = () => crypto.randomBytes(12).toString('hex');

// Every file below `root` on its own disk.
function filesOf(root, without) {
  if (!fs.existsSync(root)) return [];
  const { dev } = fs.statSync(root);
  const files = [];
  const look = (folder) => {
    let entries = [];
    try {
      entries = fs.readdirSync(path.join(root, folder), { withFileTypes: true });
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
    }
    for (const entry of entries) {
      const name = path.join(folder, entry.name);
      if (without.has(name)) continue;
      if (entry.isFile()) files.push(path.join(root, name));
      else if (entry.isDirectory() && fs.lstatSync(path.join(root, name), { throwIfNoEntry: false })?.dev === dev)
        look(name);
    }
  };
  look('');
  return files;
}

// Records one behind the other in a file, found again by where they begin.
class Heap {
  constructor(file) {
    this.file = file;
    this.fd = fs.openSync(file, 'wx', 0o600);
    this.size = 0;
    this.begins = [];
    this.places = [];
  }

  add({ place, bytes }) {
    this.begins.push(this.size);
    this.places.push(place);
    this.size += fs.writeSync(this.fd, bytes) + fs.writeSync(this.fd, '\n');
  }

  // The place at an offset, and the offset in it.
  at(offset) {
    let low = 0;
    let high = this.begins.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.begins[middle] <= offset) low = middle;
      else high = middle - 1;
    }
    return { place: this.places[low], offset: offset - this.begins[low] };
  }
}

// One line for each kind, place and form: the first of them, and how many there are.
function firsts(leaks) {
  const groups = new Map();
  for (const leak of leaks) {
    const what = `${leak.kind} in ${leak.place} (${leak.form})`;
    groups.set(what, [...groups.get(what) ?? [], leak]);
  }
  return [...groups].map(([what, [{ offset }, ...more]]) =>
    `${what}, byte ${offset}${more.length > 0 ? ` and ${more.length} more` : ''}`);
}

export class Canaries {
  // Listens from here on; the kndl has not been started yet.
  static async start(kndl) {
    const self = new Canaries();
    self.kndl = kndl;
    self.values = new Values();
    self.shown = [];
    self.tap = await Tap.start(path.join(kndl.facts.build, 'bin/kndl-tap'), path.join(kndl.dir, 'tap'),
      Number(new URL(kndl.facts.hub_url).port));
    return self;
  }

  // Gives demo/hello Variables of each kind; `call` asks a public method as somebody who may.
  async plant(call) {
    const ask = async (method, message) => {
      const { status, body } = await call(`${SECRETS}/${method}`, message);
      if (status !== 200) throw new Error(`${method}: ${status} ${JSON.stringify(body)}`);
      return body;
    };
    const requestId = () => crypto.randomUUID();
    const key = Array.from({ length: 4 }, () => crypto.randomBytes(48).toString('base64')).join('\n');
    const { repoId } = await ask('ListVariables', { repoName: 'demo/hello' });
    await ask('SetVariables', {
      requestId: requestId(),
      repoId,
      variables: [
        { name: 'CANARY', value: `canary/"${random()}"+=\\${random()}`, sensitive: true },
        { name: 'CANARY_KEY', value: `-----BEGIN X-----\n${key}\n-----END X-----`, sensitive: true, atBuild: true },
      ],
    });
    const { variable } = await ask('SetSharedVariable', {
      requestId: requestId(),
      variable: { name: 'CANARY_SHARED', value: `canary shared & ${random()}`, sensitive: true },
    });
    await ask('LinkSharedVariable', { requestId: requestId(), sharedId: variable.sharedId, repoId, linked: true });
  }

  // What a command showed to whoever ran it.
  show(verb, ...texts) {
    this.shown.push({ place: `shown:${verb}`, bytes: Buffer.from(texts.join('\n')) });
  }

  async dump() {
    const [line] = fs.readFileSync(path.join(this.kndl.dir, 'keys/postgres-postgres'), 'utf8').trim().split('\n');
    const { stdout } = await promisify(execFile)('pg_dump',
      ['-h', '127.0.0.1', '-p', String(this.kndl.facts.postgres_port), '-U', 'postgres', 'kndl'],
      { env: { PATH: '/usr/bin:/bin', PGPASSWORD: line.split(':')[4] }, encoding: 'buffer', maxBuffer: DUMP_BYTES_MAX });
    return { place: 'database dump', bytes: stdout };
  }

  // Looks, and fails with each place where a value must not be. The kndl still runs. `unsaid`: kinds
  // that no Session of this test said.
  async check({ unsaid = [] } = {}) {
    const began = Date.now();
    const { kndl } = this;
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'kndl-canaries-'));
    try {
      const heap = new Heap(path.join(folder, 'records'));
      const running = [...await kndl.programs()].map(([name, { state, pid }]) => ({ name, state, pid }))
        .filter(({ name, state }) => SERVICES.includes(name) && state === 'running');
      const faults = openMemories(running, { isSanitized: kndl.isSanitized });
      faults.push(...this.cores());
      readProcesses(kndl.facts.name).forEach((record) => heap.add(record));
      if ((await kndl.programs()).get('postgres')?.state === 'running') heap.add(await this.dump());
      await this.tap.stop();
      const { hub_url: hub, nats_port: nats, postgres_port: postgres } = kndl.facts;
      const { records, calls } = readWire(this.tap.file, { hub: Number(new URL(hub).port), nats, postgres });
      [...records, ...this.shown].forEach((record) => heap.add(record));
      this.values.addCalls(calls);
      this.values.addFiles(kndl.dir, kndl.facts.run_dir);
      const finds = await this.look(heap);
      faults.push(...firsts(finds.filter(({ kind, place }) =>
        !isAllowed(kind, place, { isSaid: !unsaid.includes(kind) }))));
      console.log(`canaries: ${this.values.kinds.size} values, ${finds.length} finds where they may be, `
        + `${heap.size >> 20} MiB of records, ${Date.now() - began} ms`);
      if (faults.length > 0)
        throw new Error(`CR-05, CR-06, RD-01: planted values are where they must not be:\n${
          faults.slice(0, SHOWN_MAX).join('\n')}`);
    } finally {
      fs.rmSync(folder, { recursive: true });
      fs.rmSync(this.tap.file, { force: true });
    }
  }

  // Cores are named so here, and left where a program was started: / for the services.
  cores() {
    const files = [...this.roots().flatMap((entry) => entry.files), ...fs.readdirSync('/').map((name) => `/${name}`)];
    return files.filter((file) => /^core(\.\d+)?$/.test(path.basename(file))).map((file) => `a core: ${file}`);
  }

  // What the Hub and the Runner wrote: {root, name, files}, the innermost last.
  roots() {
    const { dir, facts } = this.kndl;
    const runner = path.join(dir, 'runner');
    return [
      { root: dir, name: 'file:', files: filesOf(dir, NOT_OURS) },
      { root: runner, name: 'file:runner/', files: filesOf(runner, NOT_THE_RUNNERS) },
      { root: facts.run_dir, name: 'run:', files: filesOf(facts.run_dir, NOT_OURS_RUN) },
    ];
  }

  // {kind, form, place, offset} of each find.
  async look(heap) {
    const roots = this.roots();
    const files = [heap.file, ...roots.flatMap((entry) => entry.files)];
    return (await search(this.values.kinds, files)).map(({ kind, form, file, offset }) => {
      if (file === heap.file) return { kind, form, ...heap.at(offset) };
      const { root, name } = roots.filter((entry) => file.startsWith(`${entry.root}/`)).at(-1);
      return { kind, form, place: name + path.relative(root, file), offset };
    });
  }
}
