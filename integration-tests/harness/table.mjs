// docs/permissions.md, which a unit test holds to the table in code: its rows, as the matrix tries them.

import fs from 'node:fs';
import path from 'node:path';

import { ROOT } from './kndl.mjs';

const COLUMNS = ['Creator', 'other Participant', 'Member without Repo access', 'Owner', 'removed Member',
  'Runner', 'mod token', 'CLI token', 'anonymous'];

// [{section, name, about, cells: {column: cell}}]; `about` is the second column.
export function readTable() {
  const rows = [];
  let section = '';
  for (const line of fs.readFileSync(path.join(ROOT, 'docs/permissions.md'), 'utf8').split('\n')) {
    section = /^## (.+)$/.exec(line)?.[1] ?? section;
    const [, name, ...rest] = line.split('|').map((cell) => cell.trim());
    if (!/^`.*`$/.test(name ?? '') || rest.length < COLUMNS.length + 1) continue;
    const cells = Object.fromEntries(COLUMNS.map((column, i) => [column, rest[i + 1]]));
    rows.push({ section, name: name.slice(1, -1), about: rest[0], cells });
  }
  return rows;
}

export const isOfRunners = ({ section }) => /(Runner|Raw)Service$/.test(section);
export const isOfPeople = (row) => row.section.endsWith('Service') && !isOfRunners(row);
