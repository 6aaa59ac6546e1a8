// In a Session's Sandbox, as its root.

import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export const runnerHome = (kndl) => path.join(kndl.facts.run_dir, 'runner');

export const sandboxOf = (kndl, session) =>
  fs.readdirSync(path.join(runnerHome(kndl), 'sandboxes')).find((name) => name.endsWith(session));

// What the command wrote; fails as it does.
export async function inside(kndl, session, ...argv) {
  const args = ['--root', path.join(runnerHome(kndl), 'oci'), 'exec', '--cwd', '/workspace',
    '--env', 'HOME=/root', sandboxOf(kndl, session), ...argv];
  return (await run('runc', args, { encoding: 'utf8' })).stdout;
}
