import type { Masked } from '@/gen/kndl/secrets/v1/variable_pb'
import { ago } from '@/lib/time'

// How often a value was masked; '' for what is not.
export function maskedText(masked: Masked | undefined, now = Date.now()): string {
  if (masked === undefined) return ''
  if (masked.count === 0n) return 'not masked yet'
  return `masked ${masked.count === 1n ? 'once' : `${masked.count} times`}, last ${ago(masked.lastAtMs, now)}`
}
