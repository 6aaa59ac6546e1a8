import { useEffect, useRef, useState } from 'react'
import { Link } from '@tanstack/react-router'

import { State } from '@/gen/kndl/event/v1/event_pb'
import type { Session } from '@/gen/kndl/sessions/v1/session_pb'
import { sentence } from '@/lib/transport'
import { Empty, ErrorText, Loading } from '@/ui/feedback'
import { useTitle } from '@/ui/title'

import { useSessionLog } from './api/session-log'
import { Composer } from './composer'
import { QuestionCard } from './question-card'
import { Queue } from './queue'
import { SessionHeader } from './session-header'
import { StartProgress } from './start-progress'
import { lookOf } from './state-badge'
import { Transcript } from './transcript'

// Says to screen readers what changed for the whole Session: not each token.
function Announcer({ text }: { text: string }) {
  const [said, setSaid] = useState('')
  const first = useRef(true)
  useEffect(() => {
    if (first.current) first.current = false
    else setSaid(text)
  }, [text])
  return (
    <p role="status" aria-live="polite" className="sr-only">
      {said}
    </p>
  )
}

function titleOf(session: Session) {
  const needs = lookOf(session).label === 'Needs you' ? '● ' : ''
  return `${needs}${session.title === '' ? 'New Session' : session.title}`
}

export function SessionView({ sessionId }: { sessionId: string }) {
  const { snapshot, older } = useSessionLog(sessionId)
  const { view, closed } = snapshot
  const session = view?.session

  useTitle(session === undefined || closed !== undefined ? undefined : titleOf(session))

  if (closed !== undefined)
    return (
      <Empty isPage title="This Session is not here">
        <p className="mb-3">{closed.code === 'not_found' ? 'It does not exist, or you have no access to its Repo.' : closed.message}</p>
        <Link to="/" className="inline-flex min-h-11 items-center text-accent underline">
          All Sessions
        </Link>
      </Empty>
    )
  if (view === undefined || session === undefined) return <Loading what="the Session" />

  const open = view.questions.filter((each) => !each.answered)
  return (
    <div className="flex h-full min-h-0 flex-col">
      <SessionHeader session={session} />
      <StartProgress session={session} />
      {older.isError && <ErrorText retry={() => older.mutate()}>{sentence(older.error)}</ErrorText>}
      <Transcript snapshot={snapshot} loadOlder={() => older.mutate()} loadingOlder={older.isPending} />
      <footer className="mx-auto flex w-full max-w-3xl flex-col gap-2 px-3 pt-2 pb-[max(0.75rem,env(safe-area-inset-bottom))] md:px-6">
        {session.isCreator && session.state === State.ACTIVE &&
          open.map((each) => <QuestionCard key={each.question?.id} sessionId={sessionId} open={each} />)}
        <Queue session={session} queue={view.queue} />
        {session.isCreator ? (
          <Composer key={sessionId} session={session} />
        ) : (
          <p className="rounded-lg bg-sunken p-3 text-center text-sm text-muted">
            You are watching. Only {session.creatorLogin}, who started this Session, can prompt it.
          </p>
        )}
      </footer>
      <Announcer text={lookOf(session).label} />
    </div>
  )
}
