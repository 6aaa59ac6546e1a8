// Who there is for the matrix, and what of whom: people with a browser and a CLI, Sessions on Repos that
// some of them see, and credentials that are nobody's (any more).

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

import { inside } from './sandbox.mjs';
import { until } from './until.mjs';
import { Visitor } from './visitor.mjs';

const SETUP_TOKEN = 'sk-ant-oat01-matrix-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
export const SESSIONS = 'kndl.sessions.v1.SessionsService';
export const RUNNERS = 'kndl.sessions.v1.RunnersService';
export const SECRETS = 'kndl.secrets.v1.SecretsService';
export const PEOPLE = 'kndl.repo_access.v1.RepoAccessService';

// grace is the Creator of what there is, but for what `lost` started; ada is the Owner.
export const HELLO = '3001';
export const NOTES = '3002';
export const SEEN_BY = { [HELLO]: ['ada', 'grace', 'linus'], [NOTES]: ['grace', 'linus'] };

export const absent = (id) => (id[0] === 'a' ? 'b' : 'a') + id.slice(1);
export const made = (message) => ({ requestId: crypto.randomUUID(), ...message });

// The same caller as a command: by a token, and from no page.
class Cli extends Visitor {
  post(where, body) {
    return this.ask(where, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.token}` },
    });
  }
}

export async function call(visitor, method, message) {
  const answer = await visitor.call(method, message);
  assert.equal(answer.status, 200, `${method}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

export class Cast {
  constructor(kndl) {
    this.kndl = kndl;
    this.people = {}; // login → {login, id, web, cli}
    this.sessions = {}; // {hello, notes}: grace's; {lost}: of who is to lose access to its Repo
  }

  async signIn(login) {
    const web = new Visitor(this.kndl);
    assert.equal((await web.post('/auth/dev', { login, client: 'web' })).status, 200);
    const cli = new Cli(this.kndl);
    const answer = await new Visitor(this.kndl).post('/auth/dev', { login, client: 'cli', machine: 'matrix' });
    cli.token = JSON.parse(answer.text).token;
    const { person } = await call(web, `${PEOPLE}/WhoAmI`, {});
    return { login, id: person.id, web, cli };
  }

  async enter() {
    await this.kndl.github.patch({
      users: { gone: { id: 504 }, linus: { id: 505 }, lost: { id: 506 } },
      repos: {
        3001: { collaborators: { linus: 'write', lost: 'write', gone: 'write' } },
        3002: { collaborators: { ada: null, grace: 'write', linus: 'write' } },
      },
    });
    for (const login of ['ada', 'grace', 'linus', 'stranger', 'lost', 'gone'])
      this.people[login] = await this.signIn(login);
    for (const login of ['grace', 'lost'])
      await call(this.people[login].web, `${SECRETS}/SetSetupToken`, made({ token: SETUP_TOKEN }));
    for (const [name, login, repoId] of [['hello', 'grace', HELLO], ['lost', 'lost', HELLO], ['notes', 'grace', NOTES]])
      this.sessions[name] = (await call(this.people[login].web, `${SESSIONS}/CreateSession`, made({ repoId }))).session.id;
    this.runnerId = (await call(this.people.ada.web, `${RUNNERS}/ListRunners`, {})).runners[0].id;
  }

  // Of one of grace's Sessions.
  async is(state, name) {
    await until(`${name} is ${state}`, async () => (await call(this.people.grace.web, `${SESSIONS}/GetSession`,
      { sessionId: this.sessions[name] })).session.state === state, 120 * 1000);
  }

  // KNDL_URL and KNDL_MOD_TOKEN, the Session token, as they are in its Sandbox.
  async environmentOf(name) {
    const text = await inside(this.kndl, this.sessions[name], 'sh', '-c',
      'for e in /proc/[0-9]*/environ; do tr "\\0" "\\n" <$e; done 2>/dev/null | grep -E "^KNDL_(URL|MOD_TOKEN)="');
    return Object.fromEntries(text.trim().split('\n').map((line) => line.split(/=(.*)/s, 2)));
  }

  get runnerToken() {
    return fs.readFileSync(path.join(this.kndl.dir, 'keys/runner-token'), 'utf8').trim();
  }

  // Headers of requests. Each credential was real, or still is, as something else; the removed Member's
  // were theirs a moment ago.
  async makeStrangers() {
    const { gone, grace, ada } = this.people;
    const bearer = (token) => ({ authorization: `Bearer ${token}` });
    const cookie = (value) => ({ cookie: `${grace.web.names.signedIn}=${value}`, origin: this.kndl.facts.hub_url });
    const out = await this.signIn('grace');
    for (const client of ['cli', 'web']) await call(out[client], `${PEOPLE}/SignOut`, made({}));
    const { link } = await call(ada.web, `${PEOPLE}/InviteMember`, made({ login: 'guest' }));
    await call(ada.web, `${PEOPLE}/RemoveMember`, made({ personId: gone.id }));
    return {
      anonymous: {},
      'the removed Member\'s cookie': cookie(gone.web.token),
      'the removed Member\'s CLI token': bearer(gone.cli.token),
      'a cookie that signed out': cookie(out.web.token),
      'a CLI token that signed out': bearer(out.cli.token),
      'a RUNNER_TOKEN': bearer(this.runnerToken),
      'a Session token': bearer((await this.environmentOf('hello')).KNDL_MOD_TOKEN),
      'an Invite': bearer(/#invite=(\S+)$/.exec(link)[1]),
      'a cookie as a token': bearer(grace.web.token),
      'a CLI token as a cookie': cookie(grace.cli.token),
      'a CLI token by another scheme': { authorization: `Basic ${grace.cli.token}` },
      'a CLI token that is cut short': bearer(grace.cli.token.slice(0, -1)),
    };
  }
}
