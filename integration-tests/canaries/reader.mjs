// Bytes that come in pieces, read as lines and as so many bytes; what is not there yet is null.

export class Reader {
  constructor() {
    this.pieces = [];
    this.size = 0;
  }

  add(bytes) {
    this.pieces.push(bytes);
    this.size += bytes.length;
  }

  join() {
    if (this.pieces.length !== 1) this.pieces = [Buffer.concat(this.pieces)];
    return this.pieces[0];
  }

  // Up to and without `end`, which is gone then.
  upTo(end) {
    const all = this.join();
    const at = all.indexOf(end);
    if (at < 0) return null;
    this.skip(at + end.length);
    return all.subarray(0, at);
  }

  bytes(count) {
    if (this.size < count) return null;
    const all = this.join();
    this.skip(count);
    return all.subarray(0, count);
  }

  rest() {
    return this.bytes(this.size);
  }

  peek(count) {
    return this.size < count ? null : this.join().subarray(0, count);
  }

  skip(count) {
    this.pieces = [this.pieces[0].subarray(count)];
    this.size -= count;
  }
}
