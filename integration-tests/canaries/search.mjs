// One pass over everything for all values in all their forms, and one for whatever has the shape of
// a credential. Values go to grep by its standard input, and never into a message.

import { spawn } from 'node:child_process';

import { formsOf } from './forms.mjs';
import { kindOf, SHAPES } from './values.mjs';

const ENV = { PATH: '/usr/bin:/bin', LC_ALL: 'C' };

// "file\0offset:text" of each find, as grep prints it.
function grep(args, patterns, files) {
  return new Promise((resolve, reject) => {
    if (files.length === 0 || patterns === '') return resolve([]);
    const child = spawn('grep', ['-aboHZ', ...args, '-f', '-', '--', ...files],
      { env: ENV, stdio: ['pipe', 'pipe', 'pipe'] });
    const out = [];
    let said = '';
    child.stdout.on('data', (chunk) => out.push(chunk));
    child.stderr.on('data', (chunk) => { said += chunk; });
    child.stdin.on('error', () => {});
    child.on('error', reject);
    child.on('close', (code) => {
      // A file that went away meanwhile holds nothing.
      const wrong = said.split('\n').filter((line) => line && !/No such file or directory$/.test(line));
      if (code > 1 && wrong.length > 0) return reject(new Error(`grep: ${wrong[0]}`));
      resolve(Buffer.concat(out).toString('latin1').split('\n').filter(Boolean));
    });
    child.stdin.end(patterns, 'latin1');
  });
}

function parse(line) {
  const [, file, offset, text] = /^([^\0]*)\0(\d+):([^]*)$/.exec(line);
  return { file, offset: Number(offset), text };
}

const latin1 = (text) => Buffer.from(text).toString('latin1');

// The source of a shape as grep -E has it.
const extended = (shape) => shape.source.replace(/^\\b|\\b$/g, '');

const ARGUMENTS = 2000;

// Each find in `files`: {kind, form, file, offset}. `kinds` maps values to kinds.
export async function search(kinds, files) {
  const spelt = new Map();
  for (const [value, kind] of kinds)
    for (const [form, text] of formsOf(value))
      if (!spelt.has(latin1(text))) spelt.set(latin1(text), { kind, form });
  const patterns = [...spelt.keys()].join('\n');
  const shapes = SHAPES.map(([shape]) => extended(shape)).join('\n');
  const finds = [];
  for (let at = 0; at < files.length; at += ARGUMENTS) {
    const some = files.slice(at, at + ARGUMENTS);
    const [known, shaped] = await Promise.all([grep(['-F'], patterns, some), grep(['-E'], shapes, some)]);
    for (const { file, offset, text } of known.map(parse)) finds.push({ ...spelt.get(text), file, offset });
    for (const { file, offset, text } of shaped.map(parse))
      if (!spelt.has(text)) finds.push({ kind: kindOf(text), form: 'its shape alone', file, offset });
  }
  return finds.filter(({ kind }) => kind !== undefined);
}
