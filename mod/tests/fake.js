/* A Claude Code of the tests' own: registers a module's hooks, and has a relay behind `$`. */

export class Host {
  constructor() {
    this.hooks = new Map();
    this.requests = []; // {method, path, body}
    this.acts = []; // what the module did through `$`
    this.respond = () => ({ status: 204, text: '' });
    this.waiting = [];
    this.submit = async () => ({ text: '' });
    this.fill = async () => ({ isFilled: true, text: '', cursor: 0 });
    this.abort = async () => {};
    this.draft = '';
    this.$ = this.makeApi();
  }

  makeApi() {
    const host = this;

    return {
      env: { get: async (name) => (name === 'KNDL_URL' ? 'http://relay' : 'the-session-token') },
      session: { id: async () => 'c-1', info: async () => ({ transcriptPath: '/t.jsonl' }) },
      clock: { sleep: (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, 2))) },
      http: { fetch: (url, options) => host.fetch(url, options) },
      prompt: {
        submit: async (input) => (host.acts.push(['submit', input]), host.submit(input)),
        read: async () => ({ text: host.draft, cursor: 0 }),
        fill: async (input) => (host.acts.push(['fill', input]), host.fill(input)),
      },
      turn: { abort: async (input) => (host.acts.push(['abort', input]), host.abort(input)) },
      tool: { call: async (input) => (host.acts.push(['tool', input]), {}) },
    };
  }

  /* Every request carries the Session token; one without it is the test's failure. */
  async fetch(url, { method, headers, body }) {
    if (headers.authorization !== 'Bearer the-session-token') throw new Error('no token');
    const request = { method, path: url.replace('http://relay', ''), body: body && JSON.parse(body) };

    this.requests.push(request);
    this.look();
    const { status, text } = await this.respond(request);
    this.look();
    return { status, ok: status >= 200 && status < 300, text: text ?? '' };
  }

  look() {
    this.waiting.splice(0).forEach((check) => check());
  }

  load({ register }) {
    register((name, hook) => this.hooks.set(name, hook));
    return this;
  }

  /* Runs a hook as Claude Code would; `next` is what lies beneath it. */
  dispatch(name, e, next = async (x) => x) {
    return this.hooks.get(name)(this.$, e, next);
  }

  /* Resolves once `found()` is something; looks at each request. */
  until(found) {
    return new Promise((resolve) => {
      const check = () => {
        const value = found();

        if (value) resolve(value);
        else this.waiting.push(check);
      };
      check();
    });
  }

  events() {
    const seen = new Map();

    for (const { path, body } of this.requests)
      if (path === '/mod/events')
        body.events.forEach((event, i) => seen.set(body.first + i, event));
    return [...seen.values()];
  }
}

let loads = 0;

/* A module anew, with state of its own, as Claude Code loads it. */
export function load(plugin) {
  loads += 1;
  return import(`../${plugin}/hooks/register.js?load=${loads}`);
}

export const forever = () => new Promise(() => {});
