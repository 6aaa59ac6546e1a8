// Everything that one kndl's processes say to each other on loopback, by the program kndl-tap: HTTP,
// WebSockets, NATS and PostgreSQL alike. Nobody subscribes to anything: on NATS a subscriber to all
// subjects would take the place of an answerer that is away.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { once } from 'node:events';
import path from 'node:path';

export class Tap {
  // Listens on `ports`, three in a row, until stop(); what it heard goes to `file`.
  static async start(program, file, firstPort) {
    const tap = new Tap();
    tap.file = file;
    fs.mkdirSync(path.dirname(file), { recursive: true });
    const out = fs.openSync(file, 'w', 0o600);
    tap.child = spawn(program, [String(firstPort)], { env: {}, stdio: ['pipe', out, 'pipe'] });
    fs.closeSync(out);
    tap.said = '';
    tap.ended = once(tap.child, 'close');
    await new Promise((resolve, reject) => {
      tap.child.on('error', reject);
      tap.child.stderr.setEncoding('utf8').on('data', (text) => {
        tap.said += text;
        if (tap.said.includes('kndl-tap: listens')) resolve();
      });
      tap.child.on('close', () => reject(new Error(`kndl-tap does not run: ${tap.said}`)));
    });
    tap.hold(false);
    return tap;
  }

  // While nobody waits for it, it does not keep a test that failed from ending.
  hold(isHeld) {
    for (const part of [this.child, this.child.stdin, this.child.stderr])
      if (isHeld) part.ref();
      else part.unref();
  }

  async stop() {
    this.hold(true);
    this.child.stdin.end();
    const [code] = await this.ended;
    if (code !== 0) throw new Error(`kndl-tap: exit ${code}\n${this.said}`);
  }
}

// The segments of a file, in the order in which they came: {from, source, to, target, sequence,
// opens, bytes}, where `from` and `to` are addresses, `source` and `target` ports.
export function* segments(file) {
  const all = fs.readFileSync(file);
  for (let at = 0; at < all.length;) {
    const end = all.indexOf(10, at);
    const [from, source, to, target, sequence, flag, size] = all.toString('latin1', at, end).split(' ');
    const begin = end + 1;
    at = begin + Number(size);
    yield {
      from,
      to,
      source: Number(source),
      target: Number(target),
      sequence: Number(sequence),
      opens: flag === 'S',
      bytes: all.subarray(begin, at),
    };
  }
}

const TURN = 2 ** 32;

// One direction of a connection: its bytes once each and in order, whatever was sent again.
export class Direction {
  constructor() {
    this.next = undefined;
    this.early = new Map();
  }

  // What can be read now that this segment came.
  take({ sequence, opens, bytes }) {
    if (opens) {
      this.next = (sequence + 1) % TURN;
      return [];
    }
    this.next ??= sequence;
    if (bytes.length > (this.early.get(sequence)?.length ?? 0)) this.early.set(sequence, bytes);
    const ready = [];
    for (;;) {
      const found = [...this.early].find(([at]) => this.behind(at) <= 0);
      if (!found) return ready;
      this.early.delete(found[0]);
      const fresh = found[1].subarray(-this.behind(found[0]));
      if (fresh.length === 0 || -this.behind(found[0]) >= found[1].length) continue;
      ready.push(fresh);
      this.next = (this.next + fresh.length) % TURN;
    }
  }

  // How far a sequence number is behind what is expected; negative: it came before.
  behind(sequence) {
    const distance = (sequence - this.next + TURN) % TURN;
    return distance > TURN / 2 ? distance - TURN : distance;
  }

  get misses() {
    return this.early.size;
  }
}
