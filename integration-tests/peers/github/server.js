#!/usr/bin/env node
'use strict';
// A stand-in for GitHub: the App's REST API, signing in and git over HTTP on one port; see README.md.
//
//   node server.js --state FILE --git DIR --public-key FILE [--host ADDRESS] [--port 80]
//                  [--url URL] [--log FILE]

const crypto = require('crypto');
const fs = require('fs');
const http = require('http');
const path = require('path');

const readBody = require('../body.js').read;
const { Log } = require('../log.js');
const readOptions = require('../options.js').read;
const answers = require('./answers.js');
const api = require('./api.js');
const { Faults } = require('./faults.js');
const git = require('./git.js');
const oauth = require('./oauth.js');
const { State } = require('./state.js');

const BODY_BYTES_MAX = 1024 * 1024;

const options = readOptions(['state', 'git', 'public-key'], {
  host: { type: 'string', default: '127.0.0.1' },
  port: { type: 'string', default: '80' },
  url: { type: 'string' },
  log: { type: 'string' },
});

const state = new State(options.state);
const faults = new Faults();
const publicKey = crypto.createPublicKey(fs.readFileSync(options['public-key']));
const log = new Log(options.log);

async function readJson(req) {
  const text = (await readBody(req, BODY_BYTES_MAX)).toString('utf8');
  return text === '' ? {} : JSON.parse(text);
}

// What was asked, without credentials: a token's hash says which one it was.
function note(req, res) {
  const sent = req.headers.authorization;
  const entry = log.begin(req, {
    authorization: sent && crypto.createHash('sha256').update(sent).digest('hex').slice(0, 16),
    agent: req.headers['user-agent'],
  });
  res.on('close', () => log.finish(entry, res));
}

async function control(req, res, url) {
  const route = `${req.method} ${url.pathname}`;
  if (route === 'GET /__fake/health') return answers.json(res, 200, { ok: true });
  if (route === 'GET /__fake/state') return answers.json(res, 200, state.all);
  if (route === 'GET /__fake/log') return answers.json(res, 200, log.after(url));
  if (route === 'PATCH /__fake/state') {
    state.patch(await readJson(req));
    for (const repo of state.repos()) git.seed(options.git, repo, path.join(__dirname, 'seeds'));
    return answers.json(res, 200, state.all);
  }
  if (route === 'PUT /__fake/faults') {
    faults.set(await readJson(req));
    return answers.json(res, 200, { ok: true });
  }
  return answers.error(res, 404, 'no such control');
}

async function handle(req, res) {
  const url = new URL(req.url, options.url ?? `http://${req.headers.host}`);
  if (url.pathname.startsWith('/__fake/')) return control(req, res, url);
  note(req, res);
  if (await faults.answer(req, res, url)) return undefined;

  // As GitHub Enterprise does, the API may also be asked below /api/v3.
  const isBelow = url.pathname.startsWith('/api/v3/');
  const call = {
    state,
    req,
    res,
    url,
    path: isBelow ? url.pathname.slice('/api/v3'.length) : url.pathname,
    base: `${url.origin}${isBelow ? '/api/v3' : ''}`,
    web: url.origin,
    root: options.git,
    publicKey,
  };
  if (git.handle(call)) return undefined;
  if (await oauth.handle(call)) return undefined;
  call.body = await readJson(req);
  if (!api.handle(call)) answers.error(res, 404, 'Not Found');
  return undefined;
}

fs.mkdirSync(options.git, { recursive: true });
for (const repo of state.repos()) git.seed(options.git, repo, path.join(__dirname, 'seeds'));

const server = http.createServer((req, res) => {
  handle(req, res).catch((error) => {
    console.error(`${req.method} ${req.url}: ${error.stack}`);
    if (res.headersSent) res.destroy();
    else answers.error(res, 400, 'Problems parsing JSON');
  });
});
server.listen(Number(options.port), options.host, () => {
  console.log(`the stand-in for GitHub listens on ${options.host}:${server.address().port}`);
});
process.on('SIGTERM', () => process.exit(0));
