// What a Session needs and is not there, said before somebody writes its prompt.
import type { ReactNode } from 'react'
import { Link } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import { TriangleAlert } from 'lucide-react'

import { Runner_State, type Runner } from '@/gen/kndl/sessions/v1/runners_service_pb'
import type { SetupToken } from '@/gen/kndl/secrets/v1/secrets_service_pb'
import { runnersQuery } from '@/lib/runners'
import { setupTokenQuery } from '@/lib/setup-token'
import { tokenEnd } from '@/lib/token-end'
import { fullTime } from '@/lib/time'

export const wayLook = 'inline-flex min-h-11 items-center font-medium underline md:min-h-6'

export function Way({ to, children }: { to: '/setup-token' | '/runners'; children: ReactNode }) {
  return (
    <Link to={to} className={wayLook}>
      {children}
    </Link>
  )
}

function Lack({ children }: { children: ReactNode }) {
  return (
    <div className="flex items-start gap-2 rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn">
      <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
      <div className="flex min-w-0 flex-1 flex-col items-start">{children}</div>
    </div>
  )
}

function TokenLack({ token }: { token: SetupToken | null }) {
  if (token === null)
    return (
      <Lack>
        <p>You have no setup token, so Claude cannot run for you: no Session of yours can start.</p>
        <Way to="/setup-token">Set your setup token</Way>
      </Lack>
    )
  const end = tokenEnd(token.expiresAtMs)
  if (end === 'far') return null
  return (
    <Lack>
      <p>
        Your setup token {end === 'past' ? 'has probably ended' : 'ends'} by {fullTime(token.expiresAtMs)}; without one
        Claude cannot run for you.
      </p>
      <Way to="/setup-token">Set a new one</Way>
    </Lack>
  )
}

function RunnerLack({ runners }: { runners: readonly Runner[] }) {
  if (runners.some(({ state }) => state === Runner_State.CONNECTED)) return null
  return (
    <Lack>
      <p>
        {runners.length === 0
          ? 'There is no Runner: Sessions need a machine to run on, which the Owner registers.'
          : 'No Runner is connected: a Session can start once one of them is.'}
      </p>
      <Way to="/runners">See the Runners</Way>
    </Lack>
  )
}

// Nothing while it is not known: the Hub says the same when one starts.
export function Lacking({ repoCount }: { repoCount: number }) {
  const token = useQuery(setupTokenQuery)
  const runners = useQuery(runnersQuery)
  return (
    <div role="status" className="flex flex-col gap-2 empty:hidden">
      {repoCount === 0 && (
        <Lack>
          <p>
            There is no Repo that you may start a Session on. Install the Hub’s GitHub App on one that you are a
            collaborator of; it then appears here.
          </p>
        </Lack>
      )}
      {token.data !== undefined && <TokenLack token={token.data} />}
      {runners.data !== undefined && <RunnerLack runners={runners.data} />}
    </div>
  )
}
