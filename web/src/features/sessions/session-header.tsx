import { useEffect, useSyncExternalStore } from 'react'
import { Link } from '@tanstack/react-router'
import { ArrowLeft, Moon, RotateCw, Sun, WifiOff } from 'lucide-react'

import { State } from '@/gen/kndl/event/v1/event_pb'
import { VariableChange_How, type VariableChange } from '@/gen/kndl/secrets/v1/variable_pb'
import type { Session } from '@/gen/kndl/sessions/v1/session_pb'
import { hubSocket } from '@/lib/socket'
import { capital, sentence } from '@/lib/transport'
import { Button } from '@/ui/button'
import { ErrorText } from '@/ui/feedback'

import { useControl } from './api/commands'
import { useVariableChanges } from './api/session-variables'
import { Way, wayLook } from './lacking'
import { StateBadge } from './state-badge'

const hows: Record<VariableChange_How, string> = {
  [VariableChange_How.UNSPECIFIED]: 'changed',
  [VariableChange_How.ADDED]: 'added',
  [VariableChange_How.REPLACED]: 'replaced',
  [VariableChange_How.REMOVED]: 'removed',
}

// Where the Creator mends what it waits for.
function Mend({ session }: { session: Session }) {
  if (['setup_token_removed', 'setup_token_refused', 'setup_token_unavailable', 'no_setup_token'].includes(session.reasonCode))
    return <Way to="/setup-token">Your setup token</Way>
  if (session.reasonCode === 'variables_unavailable') return <VariablesWay repo={session.repoName} />
  return null
}

function VariablesWay({ repo }: { repo: string }) {
  return (
    <Link to="/variables" search={{ repo }} className={wayLook}>
      The Repo’s Variables
    </Link>
  )
}

export function useConnection() {
  return useSyncExternalStore(hubSocket.subscribeState, () => hubSocket.connection)
}

function Controls({ session, control }: { session: Session; control: ReturnType<typeof useControl> }) {
  return (
    <>
      {session.state === State.ACTIVE && (
        <Button tone="quiet" busy={control.isPending} onClick={() => control.mutate('sleepSession')}>
          <Moon className="size-4" aria-hidden /> Sleep
        </Button>
      )}
      {session.state === State.ASLEEP && (
        <Button busy={control.isPending} onClick={() => control.mutate('wakeSession')}>
          <Sun className="size-4" aria-hidden /> Wake
        </Button>
      )}
      {session.state === State.FAILED && (
        <Button tone="accent" busy={control.isPending} onClick={() => control.mutate('wakeSession')}>
          <RotateCw className="size-4" aria-hidden /> Retry
        </Button>
      )}
    </>
  )
}

const changesInLine = 3

// What the next wake changes: a few in a line, more of them folded.
function Changes({ session, changes }: { session: Session; changes: readonly VariableChange[] }) {
  const list = changes.map(({ name, how }) => `${name} ${hows[how]}`).join(', ')
  const isLong = changes.length > changesInLine
  return (
    <div className="px-4 pb-2 text-sm text-muted [overflow-wrap:anywhere]">
      <span role="status">
        The Repo’s Variables have changed since this Session started. That applies at its next wake
        {isLong ? '.' : `: ${list}.`}
      </span>{' '}
      <VariablesWay repo={session.repoName} />
      {isLong && (
        <details>
          <summary className="min-h-11 cursor-pointer py-2 md:min-h-9">{changes.length} changes</summary>
          <p className="max-h-40 overflow-y-auto">{list}.</p>
        </details>
      )}
    </div>
  )
}

export function SessionHeader({ session }: { session: Session }) {
  const connection = useConnection()
  const control = useControl(session.id)
  const { reset, isPending } = control
  // What was refused in another state is over; what is not answered yet is not.
  useEffect(() => {
    if (!isPending) reset()
  }, [session.state])
  const changes = useVariableChanges(session.id, session.state === State.ACTIVE)
  return (
    <header className="border-b border-line bg-panel">
      <div className="flex min-h-14 items-center gap-2 px-2 md:px-4">
        <Link
          to="/"
          aria-label="All Sessions"
          className="inline-flex size-11 shrink-0 items-center justify-center rounded-lg hover:bg-sunken md:hidden"
        >
          <ArrowLeft className="size-5" aria-hidden />
        </Link>
        <div className="min-w-0 flex-1">
          <h1 className="truncate text-sm font-semibold md:text-base">
            {session.title === '' ? 'New Session' : session.title}
          </h1>
          <p className="flex items-center gap-2 text-xs text-muted">
            <StateBadge session={session} />
            <span className="min-w-0 truncate">
              {session.repoName}
              {!session.isCreator && ` · ${session.creatorLogin} drives, you watch`}
            </span>
          </p>
        </div>
        {session.isCreator && <Controls session={session} control={control} />}
      </div>
      {control.isError && (
        <div className="px-4 pb-2">
          <ErrorText>{sentence(control.error)}</ErrorText>
        </div>
      )}
      {session.reason !== '' && (
        <div
          className={`px-4 pb-2 text-sm [overflow-wrap:anywhere] ${session.state === State.FAILED ? 'text-bad' : 'text-muted'}`}
        >
          <span role="status">{capital(session.reason)}</span> {session.isCreator && <Mend session={session} />}
        </div>
      )}
      {changes.length > 0 && <Changes session={session} changes={changes} />}
      {connection === 'lost' && (
        <p role="status" className="flex items-center gap-2 bg-warn-soft px-4 py-1 text-sm text-warn">
          <WifiOff className="size-4" aria-hidden /> The Hub is away. Reconnecting…
        </p>
      )}
    </header>
  )
}
