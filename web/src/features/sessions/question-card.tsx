// An Open question, docked above the composer: options by click or number key, several where the
// question allows it, or words of one's own.
import { useEffect, useState } from 'react'

import type { Question_Asked } from '@/gen/kndl/event/v1/event_pb'
import type { OpenQuestion } from '@/gen/kndl/sessions/v1/session_pb'
import { newRequestId } from '@/lib/request-id'
import { sentence } from '@/lib/transport'
import { Button } from '@/ui/button'
import { ErrorText } from '@/ui/feedback'

import { useAnswerQuestion } from './api/commands'

interface Choice {
  labels: readonly string[]
  other: string
}

const none: Choice = { labels: [], other: '' }

export function answerText(choice: Choice): string {
  return [...choice.labels, choice.other.trim()].filter((part) => part !== '').join(', ')
}

export function toggle(asked: Question_Asked, choice: Choice, label: string): Choice {
  if (!asked.multiSelect) return { labels: [label], other: '' }
  const labels = choice.labels.includes(label)
    ? choice.labels.filter((each) => each !== label)
    : [...choice.labels, label]
  return { ...choice, labels }
}

interface AskedProps {
  asked: Question_Asked
  choice: Choice
  onChange(choice: Choice): void
  numbers: boolean
}

function Asked({ asked, choice, onChange, numbers }: AskedProps) {
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-2 font-medium">
        {asked.question}
        {asked.multiSelect && <span className="ml-2 text-xs text-muted">several possible</span>}
      </legend>
      <div className="flex flex-col gap-1">
        {asked.options.map((option, index) => {
          const chosen = choice.labels.includes(option.label)
          return (
            <button
              key={option.label}
              type="button"
              aria-pressed={chosen}
              onClick={() => onChange(toggle(asked, choice, option.label))}
              className={`flex min-h-11 items-start gap-3 rounded-lg border px-3 py-2 text-left text-sm ${chosen ? 'border-accent ground-accent' : 'border-line hover:bg-sunken'}`}
            >
              {numbers && <kbd className="mt-0.5 font-mono text-xs text-muted">{index + 1}</kbd>}
              <span className="min-w-0">
                <span className="block font-medium">{option.label}</span>
                {option.description !== '' && <span className="block text-muted">{option.description}</span>}
              </span>
            </button>
          )
        })}
      </div>
      <input
        aria-label={`Other answer: ${asked.question}`}
        placeholder="Other…"
        value={choice.other}
        onChange={(event) =>
          onChange({ labels: asked.multiSelect ? choice.labels : [], other: event.target.value })
        }
        className="min-h-11 rounded-lg border border-edge bg-panel px-3 text-base md:min-h-9 md:text-sm"
      />
    </fieldset>
  )
}

export function QuestionCard({ sessionId, open }: { sessionId: string; open: OpenQuestion }) {
  const questions = open.question?.questions ?? []
  const answer = useAnswerQuestion(sessionId)
  const [choices, setChoices] = useState<readonly Choice[]>(() => questions.map(() => none))
  const [requestId] = useState(newRequestId)
  const complete = choices.every((choice) => answerText(choice) !== '')
  const only = questions.length === 1 ? questions[0] : undefined

  useEffect(() => {
    if (only === undefined) return
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement
      if (target.closest('input, textarea, select') !== null || event.ctrlKey || event.metaKey || event.altKey) return
      const option = only.options[Number(event.key) - 1]
      if (option !== undefined) setChoices(([choice]) => [toggle(only, choice ?? none, option.label)])
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [only])

  return (
    <section
      aria-label="Open question"
      className="flex max-h-[50vh] flex-col gap-4 overflow-y-auto rounded-2xl border-2 border-accent bg-panel p-4"
    >
      {questions.map((asked, index) => (
        <Asked
          key={index}
          asked={asked}
          choice={choices[index] ?? none}
          numbers={only !== undefined}
          onChange={(choice) => setChoices(choices.with(index, choice))}
        />
      ))}
      {answer.isError && <ErrorText>{sentence(answer.error)}</ErrorText>}
      <Button
        tone="accent"
        disabled={!complete || open.answered}
        busy={answer.isPending}
        onClick={() =>
          answer.mutate({ requestId, questionId: open.question?.id ?? '', answers: choices.map(answerText) })
        }
      >
        {open.answered || answer.isSuccess ? 'Answered' : 'Answer'}
      </Button>
    </section>
  )
}
