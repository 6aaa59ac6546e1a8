import { expect, test } from 'vitest'

import { tokenEnd } from './token-end'

test('a setup token that ends soon is told from one that does not, and from one that has ended', () => {
  const now = 1_700_000_000_000
  const day = 86_400_000
  expect(tokenEnd(BigInt(now + 365 * day), now)).toBe('far')
  expect(tokenEnd(BigInt(now + 29 * day), now)).toBe('near')
  expect(tokenEnd(BigInt(now), now)).toBe('past')
})
