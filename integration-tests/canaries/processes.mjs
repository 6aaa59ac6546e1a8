// Arguments and environment of each process: those of one kndl's Sandboxes are inside, all others of
// this machine outside, but for other kndls' Sandboxes.

import fs from 'node:fs';

// It ended meanwhile, or is none that root may look at, so none of a kndl's.
const isNotThere = (error) => ['ENOENT', 'ESRCH', 'EACCES'].includes(error.code);

function read(pid, name) {
  return fs.readFileSync(`/proc/${pid}/${name}`);
}

// {pid, parent, name, isInside, isForeign}; what ended meanwhile is left out.
function look(pid, prefix, world) {
  const status = read(pid, 'status').toString('latin1');
  const isSandboxed = fs.readlinkSync(`/proc/${pid}/ns/pid`) !== world;
  const isOurs = isSandboxed && read(pid, 'cgroup').includes(`/${prefix}-`);
  return {
    pid,
    parent: Number(/^PPid:\t(\d+)/m.exec(status)[1]),
    name: /^Name:\t(.*)/m.exec(status)[1],
    isInside: isOurs,
    isForeign: isSandboxed && !isOurs,
  };
}

function snapshot(prefix) {
  const world = fs.readlinkSync('/proc/self/ns/pid');
  const all = new Map();
  for (const pid of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number)) {
    try {
      all.set(pid, look(pid, prefix, world));
    } catch (error) {
      if (!isNotThere(error)) throw error;
    }
  }
  return all;
}

// Claude Code and all that it started are "claude".
function nameOf(process_, all) {
  for (let at = process_; at?.isInside; at = all.get(at.parent)) if (at.name === 'claude') return 'claude';
  return process_.name;
}

// {place, bytes} of each; `prefix` begins the names of this kndl's Sandboxes. This process, which
// knows every value, is left out.
export function readProcesses(prefix) {
  const all = snapshot(prefix);
  const records = [];
  for (const process_ of all.values()) {
    if (process_.isForeign || process_.pid === process.pid) continue;
    const where = process_.isInside ? 'inside' : 'outside';
    for (const what of ['cmdline', 'environ']) {
      try {
        records.push({
          place: `process:${where} ${what} ${nameOf(process_, all)}`,
          bytes: read(process_.pid, what),
        });
      } catch (error) {
        if (!isNotThere(error)) throw error;
      }
    }
  }
  return records;
}

// Why a service's memory could be read by who must not: {name, pid} of each program in `programs`.
// A program with the address sanitizer stays dumpable for its leak check.
export function openMemories(programs, { isSanitized }) {
  const faults = [];
  for (const { name, pid } of programs) {
    const limits = read(pid, 'limits').toString('latin1');
    if (!/^Max core file size +0 +0 /m.test(limits)) faults.push(`${name} may leave a core`);
    if (!isSanitized && fs.statSync(`/proc/${pid}/mem`).uid !== 0)
      faults.push(`${name}'s memory can be read by its own uid`);
  }
  return faults;
}
