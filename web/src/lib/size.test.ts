import { describe, expect, it } from 'vitest'

import { cutText, sizeText } from './size'

describe('sizeText', () => {
  it('names a size as people read it', () => {
    expect(sizeText(0)).toBe('0 bytes')
    expect(sizeText(1)).toBe('1 byte')
    expect(sizeText(1023)).toBe('1023 bytes')
    expect(sizeText(1024)).toBe('1.0 KiB')
    expect(sizeText(1024 * 1024 - 1)).toBe('1.0 MiB')
    expect(sizeText(1258291)).toBe('1.2 MiB')
  })
})

describe('cutText', () => {
  it('says nothing of a text that is whole', () => {
    expect(cutText('all', 0n)).toBe('')
  })

  it('says how much more there was, in bytes and not in characters', () => {
    expect(cutText('é'.repeat(1024), BigInt(2048 + 1258291))).toBe('… 1.2 MiB more; all of it has 1.2 MiB')
  })

  it('says of an input that was made shorter how long it had been', () => {
    expect(cutText('{"content": "(3000 bytes)"}', 20n)).toBe('Shortened; all of it has 20 bytes')
  })
})
