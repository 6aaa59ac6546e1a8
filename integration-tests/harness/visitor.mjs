// A browser without a page: its cookies, redirects that it is shown one by one, and the way to the
// stand-in for GitHub and back.

import http from 'node:http';

let count = 0;

export class Visitor {
  // Each comes from an address of its own, so that no rate limit counts them together.
  constructor(kndl) {
    this.kndl = kndl;
    this.address = `127.0.1.${1 + (count++ % 250)}`;
    this.origin = kndl.facts.hub_url;
    this.jar = new Map();
  }

  // The names of the Hub's cookies: of who is signed in, and of who is at GitHub to do so.
  get names() {
    const name = `kndl_dev_${new URL(this.origin).port}`;
    return { signedIn: name, atGitHub: `${name}_signin` };
  }

  get token() {
    return this.jar.get(this.names.signedIn);
  }

  set token(value) {
    this.jar.set(this.names.signedIn, value);
  }

  get cookie() {
    return [...this.jar].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  keep(setCookies) {
    for (const line of setCookies ?? []) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      if (/Max-Age=0(;|$)/.test(line)) this.jar.delete(name);
      else this.jar.set(name, value);
    }
  }

  // {status, headers, raw, text}; `raw` is the head as it came.
  ask(url, { method = 'GET', body, headers = {} } = {}) {
    const target = new URL(url, this.origin);
    const isHub = target.origin === this.origin;
    return new Promise((resolve, reject) => {
      const request = http.request(target, {
        method,
        agent: false,
        localAddress: isHub ? this.address : undefined,
        headers: { ...(isHub && this.jar.size > 0 ? { cookie: this.cookie } : {}), ...headers },
      }, (answer) => {
        const chunks = [];
        answer.on('data', (chunk) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () => {
          if (isHub) this.keep(answer.headers['set-cookie']);
          resolve({
            status: answer.statusCode,
            headers: answer.headers,
            raw: answer.rawHeaders,
            text: Buffer.concat(chunks).toString('utf8'),
          });
        });
      });
      request.on('error', reject);
      request.end(body);
    });
  }

  post(where, body, headers = {}) {
    return this.ask(where, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'content-type': 'application/json', origin: this.origin, ...headers },
    });
  }

  // A public method: {status, body}.
  async call(method, message = {}) {
    const answer = await this.post(`/${method}`, message);
    return { status: answer.status, body: answer.text ? JSON.parse(answer.text) : null };
  }

  people(method, message) {
    return this.call(`kndl.repo_access.v1.RepoAccessService/${method}`, message);
  }

  // To GitHub: the address that it would send the browser back to, as this person.
  async goesToGitHub(login, { secret, returnTo } = {}) {
    const begun = await this.post('/auth/github', { secret, returnTo });
    if (begun.status !== 200) throw new Error(`/auth/github: ${begun.status} ${begun.text}`);
    const asked = await this.ask(`${JSON.parse(begun.text).url}&as=${login}`);
    return asked.headers.location;
  }

  // And back: the Hub's answer.
  async signIn(login, options) {
    return this.ask(await this.goesToGitHub(login, options));
  }
}

// An answer without what may differ each time: the trace and the date.
export function comparable({ status, raw, text }) {
  const lines = [];
  for (let i = 0; i < raw.length; i += 2)
    if (!/^(kndl-trace|date)$/i.test(raw[i])) lines.push(`${raw[i]}: ${raw[i + 1]}`);
  return `${status}\n${lines.join('\n')}\n\n${text}`;
}
