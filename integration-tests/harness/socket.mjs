// The Hub's WebSocket from a test's side: what the page does, without the page. It comes back by
// itself and opens its Session anew from the newest Event that it has.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { create, createFileRegistry, fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

import { ROOT } from './kndl.mjs';

const AGAIN_MS = 200;

function readContract() {
  const root = path.join(ROOT, 'proto');
  const protos = fs.readdirSync(root, { recursive: true }).filter((name) => name.endsWith('.proto'));
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'kndl-contract-'));
  try {
    const file = path.join(folder, 'set');
    execFileSync('protoc', ['-I', root, '--include_imports', `--descriptor_set_out=${file}`, ...protos],
      { stdio: 'ignore' });
    return createFileRegistry(fromBinary(FileDescriptorSetSchema, fs.readFileSync(file)));
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

const registry = readContract();
const ClientFrame = registry.getMessage('kndl.gateway.v1.ClientFrame');
const ServerFrame = registry.getMessage('kndl.gateway.v1.ServerFrame');

export class Viewer {
  // `cookie` as Kndl.signIn() gives it.
  constructor(kndl, cookie, sessionId) {
    Object.assign(this, { kndl, cookie, sessionId });
    this.seqs = []; // of all Events, as they came
    this.kinds = [];
    this.blocks = new Map(); // block → text, as it streamed since the last connection
    this.connections = 0;
    this.closes = []; // status codes
    this.faults = []; // what must never happen
    this.view = undefined;
    this.isEnded = false;
    this.connect();
  }

  connect() {
    if (this.isEnded) return;
    const url = this.kndl.facts.hub_url;
    const headers = { cookie: this.cookie, origin: url };
    const socket = new WebSocket(`${url.replace('http', 'ws')}/socket`,
      { protocols: ['kndl'], headers });
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => {
      this.connections++;
      this.blocks.clear();
      this.say('open', { channel: 1, sessionId: this.sessionId, afterSeq: BigInt(this.seqs.at(-1) ?? 0) });
    };
    socket.onmessage = ({ data }) => this.take(fromBinary(ServerFrame, new Uint8Array(data)).kind);
    // A connection that is refused has an error alone; one that breaks has both.
    let isOver = false;
    const again = () => {
      if (isOver) return;
      isOver = true;
      setTimeout(() => this.connect(), AGAIN_MS);
    };
    socket.onerror = again;
    socket.onclose = ({ code }) => {
      this.closes.push(code);
      again();
    };
    this.socket = socket;
  }

  say(kind, value) {
    this.socket.send(toBinary(ClientFrame, create(ClientFrame, { kind: { case: kind, value } })));
  }

  take({ case: kind, value }) {
    if (kind === 'view') {
      this.view = value.view;
      this.addEvents(value.view.events);
    } else if (kind === 'events') {
      this.addEvents(value.events);
    } else if (kind === 'deltas') {
      for (const delta of value.deltas) this.addDelta(delta);
    } else if (kind === 'closed') {
      this.closed = value;
    }
  }

  addEvents(events) {
    for (const event of events) {
      const seq = Number(event.seq);
      const last = this.seqs.at(-1);
      if (last !== undefined && seq !== last + 1) this.faults.push(`Event ${seq} came after ${last}`);
      this.seqs.push(seq);
      this.kinds.push(event.kind.case);
    }
  }

  // Bytes are counted, not characters; the scenarios' texts are ASCII.
  addDelta({ blockId, offset, text }) {
    const known = this.blocks.get(blockId);
    if (known === undefined || Number(offset) !== known.end)
      this.blocks.set(blockId, { begin: Number(offset), end: Number(offset) + text.length, text });
    else
      this.blocks.set(blockId, { ...known, end: known.end + text.length, text: known.text + text });
  }

  close() {
    this.isEnded = true;
    this.socket.close();
  }
}
