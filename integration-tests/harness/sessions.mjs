// Sessions, by the CLI of whoever it is signed in as.

import assert from 'node:assert/strict';

import { lines } from './kndl.mjs';
import { until } from './until.mjs';

export class Sessions {
  #kndl;
  #commands = 0;

  constructor(kndl) {
    this.#kndl = kndl;
  }

  // Of `kndl new`, with these arguments behind the Repo; its id.
  async create(repo = 'demo/hello', ...args) {
    return lines(await this.#kndl.ok('new', repo, ...args, '--json'))[0].id;
  }

  async createActive(...args) {
    const id = await this.create('demo/hello', ...args);
    await this.reaches(id, 'STATE_ACTIVE');
    return id;
  }

  async show(id) {
    return (await this.#kndl.json('show', id))[0].session;
  }

  // Waits for a state, and for a code for programs if one is given; the Session as it is then.
  reaches(id, state, code) {
    return until(`${id} is ${state}`, async () => {
      const now = await this.show(id);
      return now.state === state && (!code || now.reasonCode === code) ? now : null;
    });
  }

  // With a code for programs and a sentence for people.
  async failsWith(id, code, reason = /^[A-Z].*\.$/s) {
    const found = await this.reaches(id, 'STATE_FAILED');
    assert.equal(found.reasonCode, code);
    assert.match(found.reason, reason);
  }

  async retryWorks(id) {
    await this.#kndl.ok('wake', id);
    await this.reaches(id, 'STATE_ACTIVE');
    await this.#kndl.ok('prompt', id, 'say it-works', '--wait');
  }

  // What a Bash call of Claude's printed. The number makes each prompt, and so its rule, a new one.
  async bash(id, command) {
    this.#commands += 1;
    const mark = `# ${this.#commands}`;
    await this.#kndl.ok('prompt', id, `run: ${command} ${mark}`, '--wait');
    const events = await this.#kndl.json('events', id);
    const call = events.filter((event) => event.toolCall?.inputJson.includes(mark)).at(-1);
    assert.ok(call, `no Bash call for: ${command}`);
    return events.find((event) => event.toolResult?.toolUseId === call.toolCall.toolUseId).toolResult.text;
  }
}
