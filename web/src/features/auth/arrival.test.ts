import { describe, expect, it } from 'vitest'

import { readArrival, returnPath } from './arrival'

describe('what stands behind the #', () => {
  it('is a secret, what came of a sign-in, or nothing of ours (AC-02)', () => {
    expect(readArrival('#setup=kndl_set_x')).toEqual({ kind: 'setup', secret: 'kndl_set_x' })
    expect(readArrival('#invite=kndl_inv_y')).toEqual({ kind: 'invite', secret: 'kndl_inv_y' })
    expect(readArrival('#refused').kind).toBe('refused')
    expect(readArrival('#unavailable').kind).toBe('unavailable')
    for (const hash of ['', '#', '#invite=', '#invite=a b', '#BCDF-GHJK', '#setup=x&y'])
      expect(readArrival(hash).kind).toBe('none')
  })

  it('does not stay in the address that one returns to', () => {
    const at = (hash: string) => returnPath({ pathname: '/device', search: '?a=b', hash })
    expect(at('#BCDF-GHJK')).toBe('/device?a=b#BCDF-GHJK')
    expect(at('#invite=kndl_inv_y')).toBe('/device?a=b')
    expect(at('#refused')).toBe('/device?a=b')
  })
})
