import { Clock, Play, X } from 'lucide-react'

import { QueuedPrompt_State, type QueuedPrompt, type Session } from '@/gen/kndl/sessions/v1/session_pb'
import { Button } from '@/ui/button'

import { useCancelPrompt, useControl } from './api/commands'

// What waits for Claude, above the composer.
export function Queue({ session, queue }: { session: Session; queue: readonly QueuedPrompt[] }) {
  const cancel = useCancelPrompt(session.id)
  const control = useControl(session.id)
  if (queue.length === 0) return null
  return (
    <section aria-label="Queued prompts" className="flex flex-col gap-1">
      {session.queuePaused && (
        <div className="flex items-center justify-between gap-2 rounded-lg bg-warn-soft px-3 py-1 text-sm text-warn">
          <span>Paused: {queue.length} waiting</span>
          {session.isCreator && (
            <Button tone="quiet" onClick={() => control.mutate('resumeQueue')}>
              <Play className="size-4" aria-hidden /> Resume
            </Button>
          )}
        </div>
      )}
      <ul className="flex max-h-40 flex-col gap-1 overflow-y-auto">
        {queue.map((prompt) => (
          <li key={prompt.id} className="flex items-center gap-2 rounded-lg bg-sunken px-3 text-sm">
            <Clock className="size-4 shrink-0 text-muted" aria-hidden />
            <span className="min-w-0 flex-1 truncate py-2">{prompt.text}</span>
            {prompt.state === QueuedPrompt_State.HANDED ? (
              <span className="text-xs text-muted">with Claude</span>
            ) : (
              session.isCreator && (
                <Button
                  tone="quiet"
                  aria-label={`Cancel: ${prompt.text}`}
                  title="Cancel"
                  onClick={() => cancel.mutate(prompt.id)}
                >
                  <X className="size-4" aria-hidden />
                </Button>
              )
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
