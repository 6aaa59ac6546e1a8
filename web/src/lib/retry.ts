// Whether and when a read that failed is asked again: a Hub that is away, or a limit that is over
// within seconds. A longer one is shown instead; its sentence says how long.
import { Code, ConnectError } from '@connectrpc/connect'

const triesMost = 3
const soonMs = 10_000
const longestMs = 30_000

// What the Hub says in Retry-After; undefined: it does not say.
function retryAfterMs(error: ConnectError): number | undefined {
  const seconds = Number(error.metadata.get('retry-after') ?? '')
  return Number.isInteger(seconds) && seconds > 0 ? seconds * 1000 : undefined
}

export function retries(failures: number, error: unknown): boolean {
  if (failures >= triesMost || !(error instanceof ConnectError)) return false
  if (error.code === Code.Unavailable) return true
  return error.code === Code.ResourceExhausted && (retryAfterMs(error) ?? Infinity) <= soonMs
}

// Twice as long each time, and never sooner than the Hub says.
export function retryDelayMs(failures: number, error: unknown): number {
  const least = error instanceof ConnectError ? (retryAfterMs(error) ?? 0) : 0
  return Math.max(least, Math.min(1000 * 2 ** failures, longestMs))
}
