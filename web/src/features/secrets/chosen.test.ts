import { describe, expect, it } from 'vitest'

import { chosenRepo, meantShared } from './chosen'

describe('which Repo', () => {
  const repos = [{ name: 'demo/first' }, { name: 'demo/second' }]

  it('is the named one, the first if none is named', () => {
    expect(chosenRepo(repos, 'demo/second')).toBe(repos[1])
    expect(chosenRepo(repos, undefined)).toBe(repos[0])
    expect(chosenRepo([], undefined)).toBe(undefined)
  })

  it('is none if the named one is not there', () => {
    expect(chosenRepo(repos, 'demo/renamed')).toBe(undefined)
  })
})

describe('which Shared variable a name means', () => {
  const one = (sharedId: string, name: string, moreRepos = false) => ({ sharedId, name, moreRepos })
  const none = { name: '', sharedId: '' }
  const begun = { name: 'X', sharedId: '2' }

  it('is that whose Change was pressed', () => {
    expect(meantShared([one('1', 'X'), one('2', 'X')], 'X', begun)).toBe('2')
    expect(meantShared([one('1', 'Y'), one('2', 'X')], 'Y', begun)).toBe('1')
  })

  it('is the only one of that name which may be changed, else a new one', () => {
    expect(meantShared([one('1', 'X'), one('2', 'X', true)], 'X', none)).toBe('1')
    expect(meantShared([one('1', 'X'), one('2', 'X')], 'X', none)).toBe('')
    expect(meantShared([], 'X', none)).toBe('')
  })

  it('is none that was removed since', () => {
    expect(meantShared([], 'X', begun)).toBe('')
    expect(meantShared([one('1', 'X')], 'X', begun)).toBe('1')
  })
})
