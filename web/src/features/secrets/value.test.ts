import { expect, test } from 'vitest'

import { beginning, isTooShort, sizeText, visible } from './value'

test('of a long value its beginning is shown, and how long it is', () => {
  expect(beginning('short')).toBe('short')
  expect(beginning('one\ntwo')).toBe('one')
  expect(beginning('x'.repeat(500))).toBe('x'.repeat(120))
  expect(sizeText('x'.repeat(16_384))).toBe('16,384 characters')
  expect(beginning('😀'.repeat(121))).toBe('😀'.repeat(120))
  expect(sizeText('😀😀')).toBe('2 characters')
  expect(sizeText('one\ntwo\n')).toBe('8 characters, 2 lines')
})

test('what would turn the line around is a mark', () => {
  expect(visible('a\u001b[31m\u202eb é😀')).toBe('a·[31m·b é😀')
})

test('RD-06: what is too short to be masked', () => {
  const short = ['', 'abc', '  abc  ', '\tabc\t', 'a\nb\nc', '\u0085abc\u007f', ' \n abc', 'äöü']
  const long = ['abcd', ' abcd', '1234', 'a\nbcd', 'a\tbc', '\u00a0abc', 'abc\ufeff', '😀😀😀😀']
  expect(short.filter((value) => !isTooShort(value))).toEqual([])
  expect(long.filter(isTooShort)).toEqual([])
})
