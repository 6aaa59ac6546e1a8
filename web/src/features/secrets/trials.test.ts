import { create } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'

import { Trial_Sink, Trial_Spelling, TrialSchema } from '@/gen/kndl/redactor/v1/trial_pb'

import { bySink, isWrong, onOneLine, spellingNames } from './trials'

const trial = (sink: Trial_Sink, spelling: Trial_Spelling, masked: boolean, knownLimit: boolean) =>
  create(TrialSchema, { sink, spelling, masked, knownLimit })

const trials = [
  trial(Trial_Sink.PROMPT, Trial_Spelling.PLAIN, true, false),
  trial(Trial_Sink.PROMPT, Trial_Spelling.BASE64, false, true),
  trial(Trial_Sink.NOTE, Trial_Spelling.PLAIN, false, false),
  trial(Trial_Sink.NOTE, Trial_Spelling.BASE64, false, true),
]

test('only what must be masked and was not is wrong', () => {
  expect(trials.map(isWrong)).toEqual([false, false, true, false])
})

test('trials are told by sink, spellings once', () => {
  expect([...bySink(trials).keys()]).toEqual([Trial_Sink.PROMPT, Trial_Sink.NOTE])
  expect(spellingNames(trials, false)).toEqual(['as it is'])
  expect(spellingNames(trials, true)).toEqual(['base64'])
})

test('what came out is shown on one line', () => {
  expect(onOneLine('***\u001b[31m**\r\n*')).toBe('***^[[31m**⏎*')
})
