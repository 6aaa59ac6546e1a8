import { create } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'

import { MaskedSchema } from '@/gen/kndl/secrets/v1/variable_pb'

import { maskedText } from './masked'

const now = 1_700_000_000_000
const masked = (count: bigint, lastAtMs: bigint) => create(MaskedSchema, { count, lastAtMs })

test('a count says how often and when', () => {
  expect(maskedText(undefined)).toBe('')
  expect(maskedText(masked(0n, 0n), now)).toBe('not masked yet')
  expect(maskedText(masked(1n, BigInt(now)), now)).toBe('masked once, last now')
  expect(maskedText(masked(12n, BigInt(now - 7_200_000)), now)).toBe('masked 12 times, last 2h ago')
})
