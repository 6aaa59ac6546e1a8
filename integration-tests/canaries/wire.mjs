// What the tap heard, as records of who said what: {place, bytes}.

import { HttpConversation } from './http.mjs';
import { Nats } from './nats.mjs';
import { Direction, segments } from './tap.mjs';

// PostgreSQL's own words: all of it is one record for each direction.
class DatabaseConversation {
  constructor(note) {
    Object.assign(this, { note, sent: [], received: [] });
  }

  fromClient(bytes) {
    this.sent.push(bytes);
  }

  fromServer(bytes) {
    this.received.push(bytes);
  }

  close() {
    this.note('postgres:sent', Buffer.concat(this.sent));
    this.note('postgres:received', Buffer.concat(this.received));
  }
}

// `ports` is {hub, nats, postgres}. Answers {records, calls}: calls on NATS with their answers.
export function readWire(file, ports) {
  const records = [];
  const calls = [];
  const note = (place, bytes) => {
    if (bytes.length > 0) records.push({ place, bytes });
  };
  const nats = new Nats(note, (call) => calls.push(call));
  const kinds = new Map([
    [ports.hub, () => new HttpConversation(note)],
    [ports.nats, () => nats.open()],
    [ports.postgres, () => new DatabaseConversation(note)],
  ]);
  const open = new Map();
  const close = (key) => {
    const known = open.get(key);
    if (!known) return;
    open.delete(key);
    known.talk.close();
    if (known.up.misses + known.down.misses > 0) throw new Error('the tap has holes');
  };
  for (const segment of segments(file)) {
    const isUp = kinds.has(segment.target);
    const server = isUp ? segment.target : segment.source;
    const client = isUp ? `${segment.from}:${segment.source}` : `${segment.to}:${segment.target}`;
    const key = `${client} ${server}`;
    if (segment.opens && isUp) close(key);
    if (!open.has(key))
      open.set(key, { talk: kinds.get(server)(), up: new Direction(), down: new Direction() });
    const { talk, up, down } = open.get(key);
    for (const bytes of (isUp ? up : down).take(segment))
      if (isUp) talk.fromClient(bytes);
      else talk.fromServer(bytes);
  }
  for (const key of [...open.keys()]) close(key);
  return { records, calls };
}
