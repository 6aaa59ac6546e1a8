import { State } from '@/gen/kndl/event/v1/event_pb'
import { Session_Activity, type Session } from '@/gen/kndl/sessions/v1/session_pb'

interface Look {
  label: string
  className: string
  pulse: boolean
}

const stateNames: Record<State, string> = {
  [State.UNSPECIFIED]: 'Unknown',
  [State.STARTING]: 'Starting',
  [State.ACTIVE]: 'Idle',
  [State.GOING_TO_SLEEP]: 'Going to sleep',
  [State.ASLEEP]: 'Asleep',
  [State.WAKING]: 'Waking',
  [State.FROZEN]: 'Frozen',
  [State.FAILED]: 'Failed',
  [State.ARCHIVED]: 'Archived',
}

export function stateName(state: State): string {
  return state === State.ACTIVE ? 'Active' : stateNames[state]
}

export function lookOf(session: Session): Look {
  if (session.state === State.ACTIVE) {
    if (session.activity === Session_Activity.NEEDS_YOU)
      return { label: 'Needs you', className: 'bg-accent text-accent-ink', pulse: false }
    if (session.activity === Session_Activity.WORKING)
      return { label: 'Working', className: 'ground-accent', pulse: true }
    return { label: 'Idle', className: 'bg-sunken text-good', pulse: false }
  }
  if (session.state === State.FAILED) return { label: 'Failed', className: 'bg-bad-soft text-bad', pulse: false }
  if (session.state === State.FROZEN) return { label: 'Frozen', className: 'bg-warn-soft text-warn', pulse: false }
  const moving = session.state !== State.ASLEEP && session.state !== State.ARCHIVED
  return { label: stateNames[session.state], className: 'bg-sunken text-muted', pulse: moving }
}

export function StateBadge({ session }: { session: Session }) {
  const look = lookOf(session)
  return (
    <span
      className={`inline-flex shrink-0 items-center gap-1.5 rounded-full px-2 py-0.5 text-xs font-medium ${look.className}`}
    >
      {look.pulse && <span className="size-1.5 animate-pulse rounded-full bg-current" aria-hidden />}
      {look.label}
    </span>
  )
}
