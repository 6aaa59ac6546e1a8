import { lazy, Suspense } from 'react'
import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router'

import { Loading, Empty } from '@/ui/feedback'

import { WithBack } from './back'
import { Shell } from './shell'

// The transcript brings Markdown along: loaded when a Session is opened, not for the list.
const SessionView = lazy(async () => ({ default: (await import('@/features/sessions/session-view')).SessionView }))
const NewSession = lazy(async () => ({ default: (await import('@/features/sessions/new-session')).NewSession }))
const SetupTokenPage = lazy(async () => ({
  default: (await import('@/features/secrets/setup-token-page')).SetupTokenPage,
}))

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => <Empty title="There is no such page" />,
})

function NewSessionPage() {
  return (
    <WithBack>
      <Suspense fallback={<Loading what="the page" />}>
        <NewSession />
      </Suspense>
    </WithBack>
  )
}

const home = createRoute({ getParentRoute: () => root, path: '/', component: NewSessionPage })
const fresh = createRoute({ getParentRoute: () => root, path: '/new', component: NewSessionPage })

const session = createRoute({
  getParentRoute: () => root,
  path: '/sessions/$sessionId',
  component: function SessionPage() {
    const { sessionId } = session.useParams()
    return (
      <Suspense fallback={<Loading what="the Session" />}>
        <SessionView key={sessionId} sessionId={sessionId} />
      </Suspense>
    )
  },
})

const setupToken = createRoute({
  getParentRoute: () => root,
  path: '/setup-token',
  component: () => (
    <WithBack>
      <Suspense fallback={<Loading what="the page" />}>
        <SetupTokenPage />
      </Suspense>
    </WithBack>
  ),
})

export const router = createRouter({
  routeTree: root.addChildren([home, fresh, session, setupToken]),
  scrollRestoration: false,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
