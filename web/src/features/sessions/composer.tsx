import { useEffect, useState } from 'react'
import { ArrowUp, Square } from 'lucide-react'

import { State } from '@/gen/kndl/event/v1/event_pb'
import { Session_Activity, type Session } from '@/gen/kndl/sessions/v1/session_pb'
import { newRequestId } from '@/lib/request-id'
import { sentence } from '@/lib/transport'
import { Button } from '@/ui/button'
import { ErrorText } from '@/ui/feedback'

import { useControl, useSendPrompt } from './api/commands'
import { PromptBox } from './prompt-box'

interface Draft {
  text: string
  requestId: string // stays with the text until it was sent: a reload never sends it twice
}

function readDraft(sessionId: string): Draft {
  try {
    const kept = JSON.parse(sessionStorage.getItem(`kndl.draft.${sessionId}`) ?? '') as Draft
    if (typeof kept.text === 'string' && typeof kept.requestId === 'string') return kept
  } catch {
    // none, or not one of ours
  }
  return { text: '', requestId: newRequestId() }
}

function placeholderFor(session: Session): string {
  switch (session.state) {
    case State.ASLEEP:
      return 'A prompt wakes this Session'
    case State.FROZEN:
      return 'It waits until the Runner is back'
    case State.FAILED:
      return 'Retry first; a prompt is taken once it is Active'
    case State.ARCHIVED:
      return 'Archived: to read, not to prompt'
    default:
      return session.activity === Session_Activity.WORKING ? 'Queue a prompt' : 'Prompt Claude'
  }
}

export function Composer({ session }: { session: Session }) {
  const [draft, setDraft] = useState(() => readDraft(session.id))
  const send = useSendPrompt(session.id)
  const control = useControl(session.id)
  const working = session.state === State.ACTIVE && session.activity !== Session_Activity.IDLE

  useEffect(() => {
    sessionStorage.setItem(`kndl.draft.${session.id}`, JSON.stringify(draft))
  }, [session.id, draft])

  const onSend = () => {
    if (send.isPending || draft.text.trim() === '') return
    send.mutate(draft, { onSuccess: () => setDraft({ text: '', requestId: newRequestId() }) })
  }
  const stop = () => control.mutate('stopTurn')

  return (
    <div className="flex flex-col gap-2">
      {send.isError && <ErrorText>{sentence(send.error)}</ErrorText>}
      {control.isError && <ErrorText>{sentence(control.error)}</ErrorText>}
      {send.failureCount > 0 && send.isPending && (
        <p role="status" className="text-sm text-muted">
          No answer yet; checking…
        </p>
      )}
      <PromptBox
        label="Prompt"
        placeholder={placeholderFor(session)}
        value={draft.text}
        onChange={(text) => setDraft({ text, requestId: send.isPending ? draft.requestId : newRequestId() })}
        onSend={onSend}
        onEscape={working ? stop : undefined}
        disabled={session.state === State.ARCHIVED}
      >
        <span className="min-w-0 flex-1 truncate px-2 text-xs text-muted">
          {session.model === '' ? 'default model' : session.model}
          {session.effort !== '' && `, ${session.effort} effort`}
          <span className="hidden md:inline"> · Ctrl+Enter sends{working && ', Esc stops'}</span>
        </span>
        {working && (
          <Button onClick={stop} busy={control.isPending} aria-label="Stop" title="Stop this Turn">
            <Square className="size-4 fill-current" aria-hidden /> Stop
          </Button>
        )}
        <Button
          tone="accent"
          aria-label={working ? 'Queue' : 'Send'}
          busy={send.isPending}
          disabled={draft.text.trim() === ''}
          onClick={onSend}
        >
          {working ? 'Queue' : 'Send'} <ArrowUp className="size-4" aria-hidden />
        </Button>
      </PromptBox>
    </div>
  )
}
