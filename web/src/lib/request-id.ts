// The idempotency key of one thing a person did: the same over retries and reloads, so that a
// lost answer never does it twice.
export function newRequestId(): string {
  return crypto.randomUUID()
}
