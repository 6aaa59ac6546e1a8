// What services and Runners say on NATS, as they send it: each subject, header and payload once.

import { Reader } from './reader.mjs';

const LINE = Buffer.from('\r\n');

// The method of a subject, without what differs each time: SecretsInternalService.GetMaskSet.
export function methodOf(subject) {
  const parts = subject.split('.');
  if (parts[0] === '$SRV') return '$SRV';
  if (parts[1] === 'raw') return 'RedactorRawService.Put';
  if (parts[1] === 'live') return `live ${parts.at(-1)}`;
  if (parts[1] === 'fact') return `fact ${parts.slice(2).join('.')}`;
  if (parts[3] === 'cmd') return `RunnerService.${parts[4]}`;
  return parts.slice(-2).join('.');
}

export class Nats {
  // `note(place, bytes)` gets each record, `onCall({method, request, answer})` each finished call.
  constructor(note, onCall) {
    Object.assign(this, { note, onCall, calls: new Map() });
  }

  message(subject, reply, headers, payload) {
    this.note('nats:subject', Buffer.from(`${subject} ${reply}`, 'latin1'));
    const call = this.calls.get(subject);
    const method = call?.method ?? methodOf(subject);
    const what = call || subject.startsWith('_INBOX.') ? 'answer' : reply ? 'request' : 'message';
    this.note(`nats:header of ${method} ${what}`, headers);
    this.note(`nats:${what} ${method}`, payload);
    if (call) {
      this.calls.delete(subject);
      this.onCall({ ...call, answer: payload });
    } else if (reply) {
      this.calls.set(reply, { method, request: payload });
    }
  }

  // One client's connection.
  open() {
    return new NatsConversation(this);
  }
}

class NatsConversation {
  constructor(nats) {
    this.nats = nats;
    this.reader = new Reader();
  }

  fromClient(bytes) {
    this.reader.add(bytes);
    while (this.command());
  }

  // The server repeats what others sent.
  fromServer() {}

  command() {
    if (this.waits) return this.payload();
    const line = this.reader.upTo(LINE)?.toString('latin1');
    if (line === undefined) return false;
    const [verb, ...words] = line.split(/[ \t]+/);
    if (/^(H?PUB)$/i.test(verb)) {
      const isWithHeaders = verb.length === 4;
      const size = Number(words.at(-1));
      const headers = isWithHeaders ? Number(words.at(-2)) : 0;
      const reply = words.length === (isWithHeaders ? 4 : 3) ? words[1] : '';
      this.waits = { subject: words[0], reply, headers, size };
    } else if (line !== '') {
      this.nats.note(`nats:${verb}`, Buffer.from(line, 'latin1'));
    }
    return true;
  }

  payload() {
    const { subject, reply, headers, size } = this.waits;
    const bytes = this.reader.bytes(size + LINE.length);
    if (!bytes) return false;
    this.waits = undefined;
    this.nats.message(subject, reply, bytes.subarray(0, headers), bytes.subarray(headers, size));
    return true;
  }

  close() {
    this.nats.note('nats:unfinished', this.reader.rest() ?? Buffer.alloc(0));
  }
}
