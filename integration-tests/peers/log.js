'use strict';
// What a stand-in was asked: the newest are kept for tests to read, and each answered one is
// appended to a file if there is one.

const fs = require('fs');

const COUNT_MAX = 10000;

class Log {
  #entries = [];
  #count = 0;
  #file;

  constructor(file) {
    this.#file = file;
  }

  begin(req, more) {
    this.#count += 1;
    const entry = { n: this.#count, t: Date.now(), method: req.method, url: req.url, ...more };
    this.#entries.push(entry);
    if (this.#entries.length > COUNT_MAX) this.#entries.shift();
    return entry;
  }

  finish(entry, res) {
    entry.ms = Date.now() - entry.t;
    entry.status = res.statusCode;
    if (this.#file) fs.appendFileSync(this.#file, `${JSON.stringify(entry)}\n`);
  }

  // What /__fake/log?after=N answers.
  after(url) {
    const n = Number(url.searchParams.get('after') ?? 0);
    return this.#entries.filter((entry) => entry.n > n);
  }
}

module.exports = { Log };
