// The Hub's WebSocket from a test's side: what the page does, without the page. It comes back by
// itself and opens its Session anew from the newest Event that it has.

import { create, fromBinary, toBinary } from '@bufbuild/protobuf';

import { registry } from './contract.mjs';

const AGAIN_MS = 200;

const ClientFrame = registry.getMessage('kndl.gateway.v1.ClientFrame');
const ServerFrame = registry.getMessage('kndl.gateway.v1.ServerFrame');

const packFrame = (kind, value) => toBinary(ClientFrame, create(ClientFrame, { kind: { case: kind, value } }));
const readFrame = (data) => fromBinary(ServerFrame, new Uint8Array(data)).kind;

function connect(kndl, headers) {
  const url = kndl.facts.hub_url;
  const socket = new WebSocket(`${url.replace('http', 'ws')}/socket`, { protocols: ['kndl'], headers });
  socket.binaryType = 'arraybuffer';
  return socket;
}

// One connection, and all that came on it: `frames` as {case, value}, `code` once it is closed.
export class Socket {
  static async open(kndl, headers) {
    const socket = new Socket();
    socket.frames = [];
    socket.web = connect(kndl, headers);
    socket.web.onmessage = ({ data }) => socket.frames.push(readFrame(data));
    socket.web.onclose = ({ code }) => { socket.code = code; };
    await new Promise((resolve, reject) => {
      socket.web.onopen = resolve;
      socket.web.onerror = () => reject(new Error('the socket was refused'));
    });
    return socket;
  }

  say(kind, value) {
    this.web.send(packFrame(kind, value));
  }

  all(kind) {
    return this.frames.filter((frame) => frame.case === kind).map(({ value }) => value);
  }

  close() {
    this.web.close();
  }
}

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
    const socket = connect(this.kndl, { cookie: this.cookie, origin: this.kndl.facts.hub_url });
    socket.onopen = () => {
      this.connections++;
      this.blocks.clear();
      this.say('open', { channel: 1, sessionId: this.sessionId, afterSeq: BigInt(this.seqs.at(-1) ?? 0) });
    };
    socket.onmessage = ({ data }) => this.take(readFrame(data));
    // A connection that is refused has an error alone; one that breaks has both.
    let isOver = false;
    const again = () => {
      if (isOver) return;
      isOver = true;
      setTimeout(() => this.connect(), AGAIN_MS).unref(); // a test that failed leaves it behind
    };
    socket.onerror = again;
    socket.onclose = ({ code }) => {
      this.closes.push(code);
      again();
    };
    this.socket = socket;
  }

  say(kind, value) {
    this.socket.send(packFrame(kind, value));
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
