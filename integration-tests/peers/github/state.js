'use strict';
// What this GitHub is like: its App, installations, users, Repos and who may see them. All of it
// is one JSON file, read again whenever it changes, so that it outlives a restart; tokens live in
// memory alone.

const crypto = require('crypto');
const fs = require('fs');

const HOUR_MS = 60 * 60 * 1000;

// RFC 7396.
function merge(target, patch) {
  if (patch === null || typeof patch !== 'object' || Array.isArray(patch)) return patch;
  const merged = target !== null && typeof target === 'object' && !Array.isArray(target)
    ? { ...target }
    : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = merge(merged[key], value);
  }
  return merged;
}

class State {
  #file;
  #read = { mtimeMs: -1, size: -1, value: null };
  #tokens = new Map();

  constructor(file) {
    this.#file = file;
  }

  get all() {
    const { mtimeMs, size } = fs.statSync(this.#file);
    if (mtimeMs !== this.#read.mtimeMs || size !== this.#read.size)
      this.#read = { mtimeMs, size, value: JSON.parse(fs.readFileSync(this.#file, 'utf8')) };
    return this.#read.value;
  }

  patch(patch) {
    const next = `${this.#file}.new`;
    fs.writeFileSync(next, `${JSON.stringify(merge(this.all, patch), null, 2)}\n`);
    fs.renameSync(next, this.#file);
    this.#read.mtimeMs = -1;
  }

  installation(id) {
    const found = this.all.installations[id];
    return found && { id: Number(id), ...found };
  }

  installations() {
    return Object.keys(this.all.installations).map((id) => this.installation(id));
  }

  installationOf(repoId) {
    return this.installations().find((entry) => entry.repositories.includes(repoId));
  }

  repo(id) {
    const found = this.all.repos[id];
    return found && { id: Number(id), ...found };
  }

  repos() {
    return Object.keys(this.all.repos).map((id) => this.repo(id));
  }

  // {repo}, or {moved: repo} where the name is an old one; names are compared without case.
  repoByName(name) {
    const same = (other) => other.toLowerCase() === name.toLowerCase();
    const repo = this.repos().find((entry) => same(entry.full_name));
    if (repo) return { repo };
    const moved = this.repos().find((entry) => (entry.old_names ?? []).some(same));
    return moved ? { moved } : {};
  }

  user(login) {
    const entry = Object.entries(this.all.users)
      .find(([name]) => name.toLowerCase() === login.toLowerCase());
    return entry && { login: entry[0], ...entry[1] };
  }

  // "admin", "write", "read", … or undefined.
  roleOf(repo, login) {
    const roles = repo.collaborators ?? {};
    const name = Object.keys(roles).find((key) => key.toLowerCase() === login.toLowerCase());
    return name && roles[name];
  }

  mintToken(installation, repoIds, permissions) {
    const token = `ghs_${crypto.randomBytes(18).toString('hex')}`;
    const ttl = this.all.token_ttl_ms ?? HOUR_MS;
    const granted = { installation: installation.id, repoIds, permissions, expires: Date.now() + ttl };
    this.#tokens.set(token, granted);
    return { token, expires: granted.expires };
  }

  dropToken(token) {
    this.#tokens.delete(token);
  }

  // What the token allows now; nothing if it is unknown, over, or its installation suspended.
  grant(token) {
    const granted = this.#tokens.get(token);
    if (!granted || granted.expires <= Date.now()) return null;
    const installation = this.installation(granted.installation);
    if (!installation || installation.suspended_at) return null;
    const repoIds = installation.repositories
      .filter((id) => granted.repoIds === null || granted.repoIds.includes(id));
    return { installation, repoIds, permissions: granted.permissions };
  }
}

module.exports = { State };
