'use strict';
// Which reply a request gets. The scenario is a JSON file that is read anew for each request, so
// that it can be changed, or its symlink moved, while the server runs.
//
// The newest text of a user that matches a rule picks that rule; the number of assistant messages
// after that text picks the step, and the last step repeats. So no state is kept here, and
// resumed Sessions, retries and subagents in parallel just work.

const fs = require('fs');

const NOTE = /<system-reminder>([\s\S]*?)<\/system-reminder>/g;
const STEERED = /The user sent a new message while you were working:([\s\S]*?)(?:This is how Claude Code|$)/;

function load(file) {
  const scenario = JSON.parse(fs.readFileSync(file, 'utf8'));
  for (const rule of scenario.rules ?? []) {
    if (!Array.isArray(rule.steps) || rule.steps.length === 0)
      throw new Error(`rule ${rule.name ?? rule.match} has no steps`);
  }
  return scenario;
}

// What a person wrote in a message, newest first. Claude Code's own notes are left out, but for
// the one that carries what the person sent in the middle of a Turn.
function userTexts(message) {
  const content = typeof message.content === 'string'
    ? [{ type: 'text', text: message.content }]
    : message.content ?? [];
  return content
    .filter((block) => block.type === 'text')
    .map((block) => block.text.replace(NOTE, (_, note) => STEERED.exec(note)?.[1] ?? '').trim())
    .filter((text) => text !== '')
    .reverse();
}

function systemText(body) {
  if (typeof body.system === 'string') return body.system;
  return (body.system ?? []).map((block) => block.text).join('\n');
}

function matchRule(rules, text, body) {
  for (const rule of rules) {
    if (rule.model && !new RegExp(rule.model).test(body.model)) continue;
    if (rule.system && !new RegExp(rule.system, 's').test(systemText(body))) continue;
    const found = rule.match && new RegExp(rule.match, 's').exec(text);
    if (found) return { rule, found };
  }
  return null;
}

// "$1" to "$9" anywhere in a reply are the groups of the rule's match.
function fillIn(reply, found) {
  const escaped = (n) => JSON.stringify(found[n] ?? '').slice(1, -1);
  return JSON.parse(JSON.stringify(reply).replace(/\$([1-9])/g, (_, n) => escaped(n)));
}

function pick(scenario, body) {
  let step = 0;
  for (const message of (body.messages ?? []).slice().reverse()) {
    if (message.role === 'assistant') {
      step += 1;
      continue;
    }
    if (message.role !== 'user') continue; // Claude Code's own notes, as messages of the system
    for (const text of userTexts(message)) {
      const match = matchRule(scenario.rules ?? [], text, body);
      if (!match) continue;
      const steps = match.rule.steps;
      const reply = steps[Math.min(step, steps.length - 1)];
      return { rule: match.rule.name ?? match.rule.match, step, reply: fillIn(reply, match.found) };
    }
  }
  const fallback = { blocks: [{ type: 'text', text: 'The scenario has no rule for this.' }] };
  return { rule: null, step, reply: scenario.default ?? fallback };
}

// What the scenario says of this bearer token: an error, or nothing. Without a token: 401.
function refuse(scenario, token) {
  if (token === '')
    return { status: 401, type: 'authentication_error', message: 'no bearer token was sent' };
  for (const rule of scenario.tokens ?? []) {
    if (new RegExp(rule.match).test(token)) return rule.error;
  }
  return null;
}

// A fixed answer for a path: {method?, path, status?, body}.
function fixed(scenario, method, path) {
  return (scenario.http ?? []).find(
    (entry) => (!entry.method || entry.method === method) && new RegExp(entry.path).test(path));
}

module.exports = { load, pick, refuse, fixed };
