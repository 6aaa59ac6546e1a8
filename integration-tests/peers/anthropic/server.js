#!/usr/bin/env node
'use strict';
// A stand-in for the Anthropic API whose answers come from a scenario file; see README.md.
//
//   node server.js --scenario FILE --cert FILE --key FILE [--host ADDRESS] [--port 443]
//                  [--log FILE] [--bodies DIR]

const crypto = require('crypto');
const fs = require('fs');
const https = require('https');
const path = require('path');
const zlib = require('zlib');

const readBody = require('../body.js').read;
const { Log } = require('../log.js');
const readOptions = require('../options.js').read;
const scripted = require('./scenario.js');
const { Holds, send, sendError } = require('./reply.js');

const BODY_BYTES_MAX = 64 * 1024 * 1024;

const options = readOptions(['scenario', 'cert', 'key'], {
  host: { type: 'string', default: '127.0.0.1' },
  port: { type: 'string', default: '443' },
  log: { type: 'string' },
  bodies: { type: 'string' },
});

const holds = new Holds();
const log = new Log(options.log);

async function readPlain(req) {
  const raw = await readBody(req, BODY_BYTES_MAX);
  return req.headers['content-encoding'] === 'gzip' ? zlib.gunzipSync(raw) : raw;
}

function parse(raw) {
  try {
    return raw.length > 0 ? JSON.parse(raw) : {};
  } catch {
    return {};
  }
}

function sendJson(res, status, value) {
  res.writeHead(status, { 'content-type': 'application/json' });
  res.end(JSON.stringify(value));
}

// Tokens never reach the log: their hash says which one it was.
function begin(req, raw) {
  const token = /^Bearer (.+)$/.exec(req.headers.authorization ?? '')?.[1] ?? '';
  const headers = { ...req.headers };
  delete headers.authorization;
  delete headers['x-api-key'];
  const entry = log.begin(req, {
    bearer: token && crypto.createHash('sha256').update(token).digest('hex'),
    session: headers['x-claude-code-session-id'],
    bytes: raw.length,
    headers,
  });
  return { entry, token };
}

function control(url, res) {
  switch (url.pathname) {
    case '/__fake/health':
      return sendJson(res, 200, { ok: true, held: holds.count(url.searchParams.get('rule')) });
    case '/__fake/log':
      return sendJson(res, 200, log.after(url));
    case '/__fake/release':
      return sendJson(res, 200, { released: holds.release(url.searchParams.get('rule')) });
    default:
      return sendJson(res, 404, { error: 'no such control' });
  }
}

async function answer(req, res, url, raw, entry, token) {
  const scenario = scripted.load(options.scenario);
  const fixed = scripted.fixed(scenario, req.method, url.pathname);
  if (fixed) return sendJson(res, fixed.status ?? 200, fixed.body ?? {});
  if (req.method === 'HEAD') return res.writeHead(200).end();

  const isMessages = req.method === 'POST' && url.pathname === '/v1/messages';
  const isCount = req.method === 'POST' && url.pathname === '/v1/messages/count_tokens';
  if (!isMessages && !isCount) {
    entry.unhandled = true;
    return sendError(res, { status: 404, type: 'not_found_error', message: 'no such path' });
  }
  const refused = scripted.refuse(scenario, token);
  if (refused) return sendError(res, refused);
  if (isCount) return sendJson(res, 200, { input_tokens: Math.ceil(raw.length / 4) });

  const body = parse(raw);
  const picked = scripted.pick(scenario, body);
  Object.assign(entry, {
    rule: picked.rule,
    step: picked.step,
    model: body.model,
    messages: (body.messages ?? []).length,
    tools: (body.tools ?? []).map((tool) => tool.name),
  });
  const hold = (closed) => holds.wait(closed, picked.rule);
  if (!(await send(res, body, picked.reply, scenario.headers, hold))) entry.aborted = true;
}

async function handle(req, res) {
  const url = new URL(req.url, 'https://api.anthropic.com');
  const raw = await readPlain(req);
  if (url.pathname.startsWith('/__fake/')) return control(url, res);

  const { entry, token } = begin(req, raw);
  if (options.bodies)
    fs.writeFileSync(path.join(options.bodies, `${String(entry.n).padStart(5, '0')}.json`), raw);
  try {
    await answer(req, res, url, raw, entry, token);
  } catch (error) {
    entry.error = String(error.message);
    if (res.headersSent) res.destroy();
    else sendError(res, { status: 500, message: entry.error });
  }
  log.finish(entry, res);
}

const server = https.createServer(
  { cert: fs.readFileSync(options.cert), key: fs.readFileSync(options.key) },
  (req, res) => {
    handle(req, res).catch((error) => {
      console.error(`${req.method} ${req.url}: ${error.message}`);
      res.destroy();
    });
  });
server.listen(Number(options.port), options.host, () => {
  console.log(`the scripted Anthropic API listens on ${options.host}:${server.address().port}`);
});
process.on('SIGTERM', () => process.exit(0));
