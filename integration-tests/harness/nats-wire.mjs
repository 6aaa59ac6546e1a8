// NATS as the wire has it, so that a test sees what the server says to each single thing it tries.

import crypto from 'node:crypto';
import net from 'node:net';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const USER_PREFIX = 20 << 3;

function base32(bytes) {
  let bits = 0;
  let value = 0;
  let text = '';
  for (const byte of bytes) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      text += ALPHABET[(value >>> (bits - 5)) & 31];
      bits -= 5;
      value &= (1 << bits) - 1;
    }
  }
  return bits > 0 ? text + ALPHABET[(value << (5 - bits)) & 31] : text;
}

function crc16(bytes) {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc;
}

// A user's nkey: {userPublic, privateKey}.
export function newNkey() {
  const { publicKey, privateKey } = crypto.generateKeyPairSync('ed25519');
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  const body = Buffer.concat([Buffer.from([USER_PREFIX]), raw]);
  const crc = Buffer.alloc(2);
  crc.writeUInt16LE(crc16(body));
  return { userPublic: base32(Buffer.concat([body, crc])), privateKey };
}

export class Wire {
  // Connects as the user of the JWT; throws what the server says if it lets it not in.
  static async open(port, jwt, privateKey) {
    const wire = new Wire();
    wire.socket = net.connect(port, '127.0.0.1');
    wire.buffer = '';
    wire.lines = [];
    wire.waiting = [];
    wire.socket.setEncoding('latin1');
    wire.socket.on('data', (text) => wire.take(text));
    wire.socket.on('error', () => {});
    wire.socket.on('close', () => wire.take('-CLOSED\r\n'));
    const info = JSON.parse((await wire.line()).slice('INFO '.length));
    const sig = crypto.sign(null, Buffer.from(info.nonce), privateKey).toString('base64url');
    wire.write(`CONNECT ${JSON.stringify({ jwt, sig, verbose: false, pedantic: false, headers: true,
      lang: 'test', version: '1', protocol: 1 })}\r\n`);
    const refusal = await wire.settle();
    if (refusal) throw new Error(refusal);
    return wire;
  }

  write(text) {
    this.socket.write(text, 'latin1');
  }

  take(text) {
    this.buffer += text;
    for (;;) {
      const end = this.buffer.indexOf('\r\n');
      if (end < 0) break;
      const line = this.buffer.slice(0, end);
      this.buffer = this.buffer.slice(end + 2);
      // At once, whoever reads now: the server ends a connection that is silent.
      if (line === 'PING') this.write('PONG\r\n');
      else this.lines.push(line);
    }
    while (this.lines.length > 0 && this.waiting.length > 0)
      this.waiting.shift()(this.lines.shift());
  }

  line() {
    if (this.lines.length > 0) return Promise.resolve(this.lines.shift());
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  // What the server says against all that was sent before, or "".
  async settle() {
    let refusal = '';
    this.write('PING\r\n');
    for (;;) {
      const line = await this.line();
      if (line === 'PONG') return refusal;
      if (line.startsWith('-ERR')) refusal = line;
      if (line === '-CLOSED') return refusal || line;
    }
  }

  async mayPublish(subject) {
    this.write(`PUB ${subject} 0\r\n\r\n`);
    return (await this.settle()) === '';
  }

  async maySubscribe(subject) {
    const sid = (this.sid = (this.sid ?? 0) + 1);
    this.write(`SUB ${subject} ${sid}\r\nUNSUB ${sid}\r\n`);
    return (await this.settle()) === '';
  }

  // A request; the answer's headers, as they came. `body` is what it says below them, if that is one
  // line.
  async ask(subject, inbox, body = Buffer.alloc(0)) {
    this.write(`SUB ${inbox} 9999\r\nPUB ${subject} ${inbox} ${body.length}\r\n${body.toString('latin1')}\r\n`);
    for (;;) {
      const line = await this.line();
      if (line === '-CLOSED') throw new Error('the server ended the connection');
      if (line.startsWith('-')) return line;
      if (!line.startsWith('HMSG')) continue;
      const headers = [];
      for (;;) {
        const header = await this.line();
        if (header === '') break;
        headers.push(header);
      }
      this.body = await this.line();
      this.write('UNSUB 9999\r\n');
      return headers.join('\n');
    }
  }

  // Until the server ends the connection: what it said last.
  async end() {
    let said = '';
    for (;;) {
      const line = await this.line();
      if (line === '-CLOSED') return said;
      if (line.startsWith('-ERR')) said = line;
    }
  }

  close() {
    this.socket.destroy();
  }
}
