// HTTP/1.1 and WebSockets between somebody and the Hub. Its records: the addresses that were asked,
// each answer's head and body, and what came in frames. Bodies that people sent are theirs.

import { Reader } from './reader.mjs';

const END = Buffer.from('\r\n\r\n');
const LINE = Buffer.from('\r\n');

const header = (head, name) => new RegExp(`^${name}: *(.*?) *\\r?$`, 'im').exec(head)?.[1];

class Side {
  constructor(onHead, onMessage) {
    Object.assign(this, { onHead, onMessage, reader: new Reader(), step: 'head' });
  }

  take(bytes) {
    this.reader.add(bytes);
    while (this[this.step]());
  }

  head() {
    const head = this.reader.upTo(END);
    if (!head) return false;
    const text = head.toString('latin1');
    this.message = { head: text, body: [] };
    const { hasBody, isLast } = this.onHead(this.message);
    this.left = hasBody ? Number(header(text, 'content-length') ?? 0) : 0;
    this.step = isLast ? 'forever' : 'body';
    if (hasBody && /chunked/i.test(header(text, 'transfer-encoding') ?? '')) this.step = 'chunk';
    return true;
  }

  body() {
    const part = this.reader.bytes(Math.min(this.left, this.reader.size));
    this.left -= part.length;
    this.message.body.push(part);
    if (this.left > 0) return false;
    return this.end();
  }

  chunk() {
    const line = this.reader.upTo(LINE);
    if (!line) return false;
    this.left = parseInt(line.toString('latin1'), 16) + LINE.length;
    this.isFinal = this.left === LINE.length;
    this.step = 'chunkBody';
    return true;
  }

  chunkBody() {
    const part = this.reader.bytes(this.left);
    if (!part) return false;
    if (this.isFinal) return this.end();
    this.message.body.push(part.subarray(0, -LINE.length));
    this.step = 'chunk';
    return true;
  }

  // What follows is no HTTP.
  forever() {
    return false;
  }

  end() {
    this.onMessage(this.message);
    this.step = 'head';
    return this.reader.size > 0;
  }
}

// The payloads of a server's frames, which are not masked.
function unframe(reader) {
  const payloads = [];
  for (;;) {
    const start = reader.peek(2);
    if (!start) break;
    const short = start[1] & 0x7f;
    const extra = short === 126 ? 2 : short === 127 ? 8 : 0;
    const whole = reader.peek(2 + extra);
    if (!whole) break;
    const size = extra === 0 ? short
      : extra === 2 ? whole.readUInt16BE(2) : Number(whole.readBigUInt64BE(2));
    if (reader.size < 2 + extra + size) break;
    reader.skip(2 + extra);
    payloads.push(reader.bytes(size));
  }
  payloads.push(reader.rest());
  return payloads;
}

export class HttpConversation {
  // `note(place, bytes)` gets each record.
  constructor(note) {
    this.note = note;
    this.asked = [];
    this.isUpgraded = false;
    this.client = new Side((message) => this.begin(message), () => {});
    this.server = new Side((message) => this.answerBegins(message), (message) => this.answered(message));
  }

  begin({ head }) {
    const [method, target] = head.split('\r\n')[0].split(' ');
    this.asked.push({ method, path: (target ?? '').split('?')[0] });
    this.note('http:url', Buffer.from(head.split('\r\n')[0], 'latin1'));
    return { hasBody: true, isLast: /^upgrade:/im.test(head) };
  }

  answerBegins(message) {
    const status = Number(message.head.split(' ')[1]);
    if (status >= 100 && status < 200 && status !== 101) return { hasBody: false };
    message.to = this.asked.shift() ?? { method: '?', path: '?' };
    const isEmpty = message.to.method === 'HEAD' || status === 204 || status === 304 || status === 101;
    this.isUpgraded = status === 101;
    return { hasBody: !isEmpty, isLast: status === 101 };
  }

  answered(message) {
    if (!message.to) return;
    const { method, path } = message.to;
    const cookies = message.head.split('\r\n').filter((line) => /^set-cookie:/i.test(line));
    const others = message.head.split('\r\n').filter((line) => !/^set-cookie:/i.test(line));
    this.note(`http:cookie of ${method} ${path}`, Buffer.from(cookies.join('\n'), 'latin1'));
    this.note(`http:head of ${method} ${path}`, Buffer.from(others.join('\n'), 'latin1'));
    this.note(`http:answer to ${method} ${path}`, Buffer.concat(message.body));
  }

  fromClient(bytes) {
    this.client.take(bytes);
  }

  fromServer(bytes) {
    this.server.take(bytes);
  }

  // Of what broke off, what there was.
  close() {
    if (this.isUpgraded) {
      this.note('http:head of GET /socket', Buffer.from(this.server.message.head, 'latin1'));
      this.note('http:frames', Buffer.concat(unframe(this.server.reader)));
    } else if (this.server.reader.size > 0 || this.server.message?.body.length > 0) {
      const begun = this.server.step === 'head' ? [] : this.server.message.body;
      this.note('http:unfinished answer', Buffer.concat([...begun, this.server.reader.rest()]));
    }
  }
}
