// The values that are looked for: what was planted, what tests set, and each credential that the
// product made, as it went over the wire or lies where an operator put it. By kind; kinds are those
// of the table in allowed.mjs.

import fs from 'node:fs';
import path from 'node:path';

import { fromBinary } from '@bufbuild/protobuf';

import { registry } from '../harness/contract.mjs';
import { LEAST_BYTES } from './forms.mjs';

const LEAST_SENSITIVE_CHARS = 16; // a test of weak values sets words that are everywhere

// How credentials of ours look, whoever made them.
export const SHAPES = [
  [/kndl_web_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}/g, 'sign-in cookie'],
  [/kndl_cli_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}/g, 'CLI token'],
  [/kndl_run_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}/g, 'Runner token'],
  [/kndl_mod_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}/g, 'mod token'],
  [/kndl_ses_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}/g, 'Session token'],
  [/kndl_inv_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}/g, 'Invite'],
  [/kndl_set_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}/g, 'Setup link'],
  [/kndl_sgn_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}/g, 'way to GitHub and back'],
  [/kndl_dev_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}/g, 'kndl login that waits'],
  [/kndl_cnf_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}/g, 'confirmation'],
  [/ghs_[0-9a-f]{36}/g, 'git token'],
  [/\bS[UAO][A-Z2-7]{56}\b/g, 'NATS seed'],
];

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

// A seed ends with the CRC-16 (XMODEM, low byte first) of what is before it; zeros in base64, as
// Chromium has them in its arguments, do not.
function isSeed(text) {
  const bits = [...text].map((c) => BASE32.indexOf(c).toString(2).padStart(5, '0')).join('');
  const bytes = Array.from({ length: bits.length >> 3 }, (_, i) => parseInt(bits.slice(8 * i, 8 * i + 8), 2));
  const sum = bytes.splice(-2);
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return sum[0] === (crc & 0xff) && sum[1] === crc >> 8;
}

// What a shape says that a text is.
export function kindOf(text) {
  const kind = SHAPES.find(([shape]) => text.match(shape)?.[0] === text)?.[1];
  return kind === 'NATS seed' && !isSeed(text) ? undefined : kind;
}

const decode = (name, bytes) => fromBinary(registry.getMessage(name), bytes);

export class Values {
  constructor() {
    this.kinds = new Map(); // value → kind
  }

  add(kind, value) {
    if (value.length >= LEAST_BYTES && !this.kinds.has(value)) this.kinds.set(value, kind);
  }

  addShapes(text) {
    for (const [shape, kind] of SHAPES)
      for (const [value] of text.matchAll(shape)) this.add(kind, value);
  }

  addVariable({ value, sensitive }) {
    if (sensitive && value.length >= LEAST_SENSITIVE_CHARS) this.add('Sensitive value', value);
  }

  // What went over NATS: requests of people, and what was made for them.
  addCalls(calls) {
    const taken = {
      'SecretsService.SetSetupToken': ({ request }) =>
        this.add('setup token', decode('kndl.secrets.v1.SetSetupTokenRequest', request).token),
      'SecretsService.SetVariables': ({ request }) =>
        decode('kndl.secrets.v1.SetVariablesRequest', request).variables
          .forEach((variable) => this.addVariable(variable)),
      'SecretsService.SetSharedVariable': ({ request }) =>
        this.addVariable(decode('kndl.secrets.v1.SetSharedVariableRequest', request).variable ?? { value: '' }),
      'SessionsRunnerService.MintGitToken': ({ request, answer }) => {
        const { use } = decode('kndl.sessions.v1.MintGitTokenRequest', request);
        this.add(use === 1 ? 'clone token' : 'git token',
          decode('kndl.sessions.v1.MintGitTokenResponse', answer).token);
      },
    };
    for (const call of calls) taken[call.method]?.(call);
    for (const { request, answer } of calls)
      for (const bytes of [request, answer]) this.addShapes(bytes.toString('latin1'));
  }

  // What ./dev made and gave to the services.
  addFiles(dir, runDir) {
    const read = (file) => fs.readFileSync(file, 'utf8').trim();
    const keys = path.join(dir, 'keys');
    const [, key] = read(path.join(keys, 'secrets-key')).split(' ');
    this.add('HUB_SECRETS_KEY', key);
    this.add('HUB_SECRETS_KEY', Buffer.from(key, 'hex'));
    this.add('GitHub App\'s private key', read(path.join(keys, 'github-app.pem')));
    this.add('GitHub App\'s client secret', read(path.join(keys, 'github-client-secret')));
    for (const name of fs.readdirSync(keys).filter((file) => file.startsWith('postgres-')))
      this.add('PostgreSQL password', read(path.join(keys, name)).split(':')[4]);
    for (const folder of [keys, path.join(dir, 'nats'), runDir]) this.addFolder(folder);
    for (const file of ['cli.json']) this.addFile(path.join(dir, file));
  }

  addFile(file) {
    if (fs.existsSync(file)) this.addShapes(fs.readFileSync(file, 'latin1'));
  }

  // Its small files, and none behind a mount.
  addFolder(folder) {
    const { dev } = fs.statSync(folder);
    for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
      const file = path.join(folder, entry.name);
      const isOurs = !['web', 'runner'].includes(entry.name);
      if (entry.isDirectory() && isOurs && fs.statSync(file).dev === dev) this.addFolder(file);
      else if (entry.isFile()) this.addFile(file);
    }
  }
}
