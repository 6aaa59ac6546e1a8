// What a link to this page says behind its #, which browsers send to nobody: the secret of a Setup
// link or an Invite, or what came of a sign-in (services/api-gateway/auth_github.c).

export type Arrival =
  | { kind: 'setup' | 'invite'; secret: string }
  | { kind: 'refused' | 'unavailable' }
  | { kind: 'none' }

export function readArrival(hash: string): Arrival {
  const found = /^#(setup|invite)=([A-Za-z0-9_]+)$/.exec(hash)
  if (found !== null) return { kind: found[1] as 'setup' | 'invite', secret: found[2]! }
  if (hash === '#refused') return { kind: 'refused' }
  if (hash === '#unavailable') return { kind: 'unavailable' }
  return { kind: 'none' }
}

// Where to go once signed in: here, less what was only meant for the way in.
export function returnPath(location: { pathname: string; search: string; hash: string }): string {
  const isOurs = readArrival(location.hash).kind !== 'none'
  return location.pathname + location.search + (isOurs ? '' : location.hash)
}
