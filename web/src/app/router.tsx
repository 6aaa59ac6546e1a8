import { lazy, Suspense, type ReactNode } from 'react'
import { createRootRoute, createRoute, createRouter, Link } from '@tanstack/react-router'

import { useMe } from '@/features/auth/api/whoami'
import { Loading, Empty } from '@/ui/feedback'

import { WithBack } from './back'
import { Shell } from './shell'

// The transcript brings Markdown along: loaded when a Session is opened, not for the list.
const SessionView = lazy(async () => ({ default: (await import('@/features/sessions/session-view')).SessionView }))
const NewSession = lazy(async () => ({ default: (await import('@/features/sessions/new-session')).NewSession }))
const SetupTokenPage = lazy(async () => ({
  default: (await import('@/features/secrets/setup-token-page')).SetupTokenPage,
}))
const RunnersPage = lazy(async () => ({ default: (await import('@/features/runners/runners-page')).RunnersPage }))

const VariablesPage = lazy(async () => ({
  default: (await import('@/features/secrets/variables-page')).VariablesPage,
}))

const MembersPage = lazy(async () => ({
  default: (await import('@/features/members/members-page')).MembersPage,
}))
const SignInsPage = lazy(async () => ({
  default: (await import('@/features/auth/sign-ins-page')).SignInsPage,
}))
const DevicePage = lazy(async () => ({
  default: (await import('@/features/auth/device-page')).DevicePage,
}))

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => (
    <Empty isPage title="There is no such page">
      <Link to="/" className="inline-flex min-h-11 items-center text-accent underline">
        All Sessions
      </Link>
    </Empty>
  ),
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

function InPage({ children }: { children: ReactNode }) {
  return (
    <WithBack>
      <Suspense fallback={<Loading what="the page" />}>{children}</Suspense>
    </WithBack>
  )
}

const variables = createRoute({
  getParentRoute: () => root,
  path: '/variables',
  validateSearch: ({ repo }): { repo?: string } => (typeof repo === 'string' && repo !== '' ? { repo } : {}),
  component: function Variables() {
    const { repo } = variables.useSearch()
    const navigate = variables.useNavigate()
    return (
      <InPage>
        <VariablesPage repoName={repo} onRepo={(name) => void navigate({ search: { repo: name }, replace: true })} />
      </InPage>
    )
  },
})

const members = createRoute({
  getParentRoute: () => root,
  path: '/members',
  component: function Members() {
    const me = useMe()
    return <InPage>{me.data != null && <MembersPage me={me.data} />}</InPage>
  },
})

const runners = createRoute({
  getParentRoute: () => root,
  path: '/runners',
  component: function Runners() {
    const me = useMe()
    return <InPage>{me.data != null && <RunnersPage isOwner={me.data.isOwner} />}</InPage>
  },
})

const signIns = createRoute({
  getParentRoute: () => root,
  path: '/sign-ins',
  component: () => (
    <InPage>
      <SignInsPage />
    </InPage>
  ),
})

const device = createRoute({
  getParentRoute: () => root,
  path: '/device',
  component: () => (
    <InPage>
      <DevicePage />
    </InPage>
  ),
})

export const router = createRouter({
  routeTree: root.addChildren([home, fresh, session, setupToken, variables, members, signIns, device, runners]),
  scrollRestoration: false,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
