import { Check, LoaderCircle } from 'lucide-react'

import type { Session } from '@/gen/kndl/sessions/v1/session_pb'
import { State } from '@/gen/kndl/event/v1/event_pb'
import { duration } from '@/lib/time'

const names: Record<string, string> = {
  clone: 'Clone the Repo',
  download: 'Download Claude Code',
  image: 'Prepare the image',
  sandbox: 'Start the Sandbox',
  relay: 'Open the relay',
  tmux: 'Start the terminal',
  claude: 'Start Claude Code',
  hello: 'Wait for Claude Code to be ready',
}

// How far a start or a wake is.
export function StartProgress({ session }: { session: Session }) {
  if (session.state !== State.STARTING && session.state !== State.WAKING) return null
  return (
    <ol aria-label="Start" className="flex flex-wrap gap-x-4 gap-y-1 px-4 py-2 text-xs text-muted">
      {session.steps.map((step) => (
        <li key={step.name} className="flex items-center gap-1">
          {step.tookMs < 0n ? (
            <LoaderCircle className="size-3 animate-spin" aria-hidden />
          ) : (
            <Check className="size-3 text-good" aria-hidden />
          )}
          {names[step.name] ?? step.name}
          {step.tookMs >= 0n && ` ${duration(step.tookMs)}`}
        </li>
      ))}
      {session.steps.length === 0 && (
        <li className="flex items-center gap-1">
          <LoaderCircle className="size-3 animate-spin" aria-hidden /> Waiting for the Runner
        </li>
      )}
    </ol>
  )
}
