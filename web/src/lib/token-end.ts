export type TokenEnd = 'far' | 'near' | 'past'

const nearMs = 30 * 86_400_000

// A token ends about a year after it was made; who set it late has less than it says.
export function tokenEnd(expiresAtMs: bigint, now = Date.now()): TokenEnd {
  const leftMs = Number(expiresAtMs) - now
  if (leftMs <= 0) return 'past'
  return leftMs < nearMs ? 'near' : 'far'
}
