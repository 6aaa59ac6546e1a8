// Whether and when a read that failed is asked again: a Hub that is away, or a limit, unless it says
// that it takes more than seconds. That is shown instead.
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
  const waitMs = retryAfterMs(error)
  if (error.code === Code.Unavailable) return waitMs === undefined || waitMs <= soonMs
  return error.code === Code.ResourceExhausted && waitMs !== undefined && waitMs <= soonMs
}

// Twice as long each time, and never sooner than the Hub says.
export function retryDelayMs(failures: number, error: unknown): number {
  const least = error instanceof ConnectError ? (retryAfterMs(error) ?? 0) : 0
  return Math.max(least, Math.min(1000 * 2 ** failures, longestMs))
}
