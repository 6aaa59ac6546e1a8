'use strict';
// Faults on command: a list of {path, method?, times?, status, headers?, body?, delay_ms?, hang?}.
// The first that fits a request answers it; `times` says how often (always, if absent).

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

class Faults {
  #list = [];

  set(list) {
    this.#list = list.map((fault) => ({ ...fault, left: fault.times ?? Infinity }));
  }

  // Answers whether the request is done with.
  async answer(req, res, url) {
    const fault = this.#list.find((entry) => entry.left > 0
      && (!entry.method || entry.method === req.method)
      && new RegExp(entry.path).test(url.pathname));
    if (!fault) return false;
    fault.left -= 1;
    if (fault.hang) return true;
    if (fault.delay_ms) await sleep(fault.delay_ms);
    if (fault.status === undefined) return false;
    const isText = typeof fault.body === 'string';
    res.writeHead(fault.status, {
      'content-type': isText ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
      ...fault.headers,
    });
    res.end(isText ? fault.body : JSON.stringify(fault.body ?? {}));
    return true;
  }
}

module.exports = { Faults };
