'use strict';
const assert = require('assert');
const fs = require('fs');
const path = require('path');
const { test } = require('node:test');

const { load, pick, refuse, fixed } = require('../scenario.js');

const user = (content) => ({ role: 'user', content });
const assistant = { role: 'assistant', content: 'so it is' };
const text = (words) => ({ blocks: [{ type: 'text', text: words }] });
const scenario = {
  rules: [
    { name: 'count', match: 'count', steps: [text('one'), text('two')] },
    { name: 'echo', match: 'say (\\S+)', steps: [text('$1 "$1"')] },
    { name: 'opus', match: 'which', model: 'opus', steps: [text('opus')] },
  ],
};

test('the newest text that matches picks the rule, the answers since then the step', () => {
  const messages = [user('count'), assistant, user('say x'), assistant, user('count')];
  assert.strictEqual(pick(scenario, { messages }).reply.blocks[0].text, 'one');
  assert.strictEqual(pick(scenario, { messages: [...messages, assistant] }).step, 1);
  const later = pick(scenario, { messages: [...messages, assistant, user('unknown'), assistant] });
  assert.strictEqual(later.rule, 'count');
  assert.strictEqual(later.reply.blocks[0].text, 'two');
});

test('groups of the match are filled in as text, whatever is in them', () => {
  const picked = pick(scenario, { messages: [user('say a"b\\')] });
  assert.strictEqual(picked.reply.blocks[0].text, 'a"b\\ "a"b\\"');
});

test('what Claude Code notes is nobody\'s prompt, but what a person sent meanwhile is', () => {
  const note = '<system-reminder>please count</system-reminder>';
  const steered = '<system-reminder>\nThe user sent a new message while you were working:\nsay y\n'
    + 'This is how Claude Code says it</system-reminder>';
  assert.strictEqual(pick(scenario, { messages: [user(note)] }).rule, null);
  assert.strictEqual(pick(scenario, { messages: [{ role: 'system', content: 'count' }] }).rule, null);
  assert.strictEqual(pick(scenario, { messages: [user(steered)] }).rule, 'echo');
});

test('a rule may ask for a model', () => {
  const messages = [user('which?')];
  assert.strictEqual(pick(scenario, { messages, model: 'claude-opus-5' }).rule, 'opus');
  assert.strictEqual(pick(scenario, { messages, model: 'claude-haiku-5' }).rule, null);
});

test('a bearer token is refused where the scenario says so, and always when there is none', () => {
  const tokens = [{ match: 'wrong', error: { status: 401 } }];
  assert.strictEqual(refuse({ tokens }, 'sk-ant-oat01-right'), null);
  assert.strictEqual(refuse({ tokens }, 'sk-ant-oat01-wrong').status, 401);
  assert.strictEqual(refuse({}, '').status, 401);
});

test('each scenario here can be loaded, and lets mods have their network', () => {
  const folder = path.join(__dirname, '../scenarios');
  for (const file of fs.readdirSync(folder)) {
    const loaded = load(path.join(folder, file));
    const answer = fixed(loaded, 'GET', '/api/claude_code/policy_limits');
    assert.deepStrictEqual(answer.body, { restrictions: {} }, file);
  }
});
