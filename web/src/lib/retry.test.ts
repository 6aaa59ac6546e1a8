import { Code, ConnectError } from '@connectrpc/connect'
import { expect, test } from 'vitest'

import { retries, retryDelayMs } from './retry'

const refused = (code: Code, after?: string) =>
  new ConnectError('no', code, after === undefined ? undefined : { 'retry-after': after })

test('a Hub that is away is asked again, three times at most', () => {
  expect(retries(0, refused(Code.Unavailable))).toBe(true)
  expect(retries(2, refused(Code.Unavailable, '1'))).toBe(true)
  expect(retries(0, refused(Code.Unavailable, '3600'))).toBe(false)
  expect(retries(3, refused(Code.Unavailable))).toBe(false)
  expect(retries(0, refused(Code.NotFound))).toBe(false)
  expect(retries(0, new Error('x'))).toBe(false)
})

test('a limit is waited for if it is over within seconds', () => {
  expect(retries(0, refused(Code.ResourceExhausted, '6'))).toBe(true)
  expect(retries(0, refused(Code.ResourceExhausted, '180'))).toBe(false)
  expect(retries(0, refused(Code.ResourceExhausted))).toBe(false)
})

test('nothing is asked again sooner than the Hub says', () => {
  expect(retryDelayMs(0, refused(Code.ResourceExhausted, '6'))).toBe(6000)
  expect(retryDelayMs(0, refused(Code.Unavailable))).toBe(1000)
  expect(retryDelayMs(2, refused(Code.Unavailable, '1'))).toBe(4000)
})
