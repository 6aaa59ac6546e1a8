import { expect, test } from 'vitest'

import { duration } from './time'

test('a duration has no 60 seconds beside its minutes', () => {
  expect(duration(9_400n)).toBe('9.4 s')
  expect(duration(59_900n)).toBe('59 s')
  expect(duration(119_700n)).toBe('1 m 59 s')
  expect(duration(3_660_000n)).toBe('1 h 1 m')
})
