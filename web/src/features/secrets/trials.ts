import { Trial_Sink, Trial_Spelling, type Trial } from '@/gen/kndl/redactor/v1/trial_pb'

const sinks: Record<Trial_Sink, string> = {
  [Trial_Sink.UNSPECIFIED]: 'Something newer',
  [Trial_Sink.PROMPT]: 'Prompts and answers',
  [Trial_Sink.LAST_OUTPUT]: 'Last output, why a start failed',
  [Trial_Sink.STREAMED_TEXT]: 'Text as it streams',
  [Trial_Sink.STREAMED_THINKING]: 'Thinking as it streams',
  [Trial_Sink.STREAMED_TOOL_INPUT]: 'Tool input as it streams',
  [Trial_Sink.TEXT]: 'Text',
  [Trial_Sink.THINKING]: 'Thinking',
  [Trial_Sink.TOOL_INPUT]: 'Tool input',
  [Trial_Sink.TOOL_OUTPUT]: 'Tool output',
  [Trial_Sink.QUESTION]: 'Questions',
  [Trial_Sink.SUBAGENT]: 'Subagents',
  [Trial_Sink.NOTE]: 'Notes',
  [Trial_Sink.COMPACTION]: 'Compactions',
}

const spellings: Record<Trial_Spelling, string> = {
  [Trial_Spelling.UNSPECIFIED]: 'something newer',
  [Trial_Spelling.PLAIN]: 'as it is',
  [Trial_Spelling.COLOURED]: 'coloured',
  [Trial_Spelling.WRAPPED]: 'wrapped',
  [Trial_Spelling.JSON]: 'in JSON',
  [Trial_Spelling.URL]: 'in a URL',
  [Trial_Spelling.BASE64]: 'base64',
  [Trial_Spelling.INDENTED]: 'wrapped with indentation',
}

export const sinkName = (sink: Trial_Sink) => sinks[sink] ?? sinks[Trial_Sink.UNSPECIFIED]
export const spellingName = (spelling: Trial_Spelling) => spellings[spelling] ?? spellings[Trial_Spelling.UNSPECIFIED]

// It must be masked and was not.
export const isWrong = (trial: Trial) => !trial.masked && !trial.knownLimit

export function bySink(trials: readonly Trial[]): Map<Trial_Sink, Trial[]> {
  const map = new Map<Trial_Sink, Trial[]>()
  for (const trial of trials) map.set(trial.sink, [...(map.get(trial.sink) ?? []), trial])
  return map
}

// Each spelling once.
export function spellingNames(trials: readonly Trial[], knownLimit: boolean): string[] {
  return [...new Set(trials.filter((trial) => trial.knownLimit === knownLimit).map((trial) => trial.spelling))].map(spellingName)
}

// What came out on one line: a line break as a sign, a colour code as ^[.
export const onOneLine = (text: string) => text.replace(/\r?\n/g, '⏎').replaceAll('\u001b', '^[')
