import { useState } from 'react'
import { Link, useParams } from '@tanstack/react-router'

import type { Session } from '@/gen/kndl/sessions/v1/session_pb'
import { ago } from '@/lib/time'
import { sentence } from '@/lib/transport'
import { Empty, ErrorText, Loading } from '@/ui/feedback'

import { useSessions } from './api/sessions'
import { StateBadge } from './state-badge'

function matches(session: Session, words: string): boolean {
  const text = `${session.title} ${session.repoName} ${session.creatorLogin}`.toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

export function SessionList() {
  const query = useSessions()
  const [words, setWords] = useState('')
  const [mine, setMine] = useState(false)
  const { sessionId } = useParams({ strict: false })

  if (query.isPending) return <Loading what="Sessions" />
  if (query.isError)
    return <ErrorText retry={() => void query.refetch()}>{sentence(query.error)}</ErrorText>
  if (query.data.length === 0) return <Empty title="No Sessions yet">Start one: pick a Repo and say what to do.</Empty>

  const shown = query.data.filter((session) => matches(session, words) && (!mine || session.isCreator))
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex items-center gap-2 px-3 pb-2">
        <input
          type="search"
          aria-label="Search Sessions"
          placeholder="Search"
          value={words}
          onChange={(event) => setWords(event.target.value)}
          className="min-h-11 min-w-0 flex-1 rounded-lg border border-edge bg-panel px-3 text-base md:min-h-9 md:text-sm"
        />
        <button
          type="button"
          aria-pressed={mine}
          onClick={() => setMine(!mine)}
          className={`min-h-11 min-w-11 rounded-lg px-2 text-sm md:min-h-9 ${mine ? 'ground-accent' : 'text-muted hover:bg-sunken'}`}
        >
          Mine
        </button>
      </div>
      <nav aria-label="Sessions" className="min-h-0 flex-1 overflow-y-auto px-2 pb-4">
        {shown.length === 0 && <p className="p-4 text-sm text-muted">Nothing matches.</p>}
        <ul className="flex flex-col gap-0.5">
          {shown.map((session) => (
            <li key={session.id}>
              <Link
                to="/sessions/$sessionId"
                params={{ sessionId: session.id }}
                aria-current={session.id === sessionId ? 'page' : undefined}
                className={`flex min-h-14 flex-col justify-center gap-1 rounded-lg px-3 py-2 ${session.id === sessionId ? 'ground-accent' : 'hover:bg-sunken'}`}
              >
                <span className="flex items-center gap-2">
                  <span className="min-w-0 flex-1 truncate text-sm font-medium">
                    {session.title === '' ? 'New Session' : session.title}
                  </span>
                  <StateBadge session={session} />
                </span>
                <span className="flex gap-2 text-xs text-muted">
                  <span className="min-w-0 flex-1 truncate">
                    {session.repoName}
                    {!session.isCreator && ` · ${session.creatorLogin}`}
                  </span>
                  <time>{ago(session.changedAtMs)}</time>
                </span>
              </Link>
            </li>
          ))}
        </ul>
      </nav>
    </div>
  )
}
