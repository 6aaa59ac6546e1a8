import { useState } from 'react'
import { Link, Outlet, useMatchRoute } from '@tanstack/react-router'
import { Braces, KeyRound, Laptop, LogOut, Monitor, Moon, Plus, Server, Sun, Users } from 'lucide-react'

import { useMe } from '@/features/auth/api/whoami'
import { useSignOut } from '@/features/auth/api/sign-in'
import { SignIn } from '@/features/auth/sign-in'
import { SessionList } from '@/features/sessions/session-list'
import { currentTheme, setTheme, type Theme } from '@/lib/theme'
import { sentence } from '@/lib/transport'
import { ErrorText, Loading } from '@/ui/feedback'

const nextTheme: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' }

// A row of the menu: a picture and what it is called, large enough for a thumb.
const entry =
  'flex min-h-11 min-w-0 items-center gap-2 rounded-lg px-2 text-left text-sm text-muted hover:bg-sunken hover:text-ink aria-[current=page]:ground-accent md:min-h-9'

function ThemeButton() {
  const [theme, set] = useState(currentTheme)
  const Icon = theme === 'system' ? Monitor : theme === 'light' ? Sun : Moon
  return (
    <button
      type="button"
      className={entry}
      title="Light, dark, or as the system has it"
      onClick={() => {
        setTheme(nextTheme[theme])
        set(nextTheme[theme])
      }}
    >
      <Icon className="size-4 shrink-0" aria-hidden /> Theme: {theme}
    </button>
  )
}

const pages = [
  { to: '/variables', label: 'Variables', icon: Braces },
  { to: '/setup-token', label: 'Setup token', icon: KeyRound },
  { to: '/runners', label: 'Runners', icon: Server },
  { to: '/members', label: 'Members', icon: Users },
  { to: '/sign-ins', label: 'Sign-ins', icon: Laptop },
] as const

function Menu({ login }: { login: string }) {
  const signOut = useSignOut()
  return (
    <div className="mt-auto border-t border-line p-2 pb-[max(0.5rem,env(safe-area-inset-bottom))]">
      <nav aria-label="Pages" className="grid grid-cols-2">
        {pages.map(({ to, label, icon: Icon }) => (
          <Link key={to} to={to} className={entry}>
            <Icon className="size-4 shrink-0" aria-hidden /> {label}
          </Link>
        ))}
        <ThemeButton />
      </nav>
      <div className="flex items-center justify-between gap-2">
        <span className="min-w-0 truncate px-2 text-sm text-muted">Signed in as {login}</span>
        <button type="button" className={`${entry} shrink-0`} onClick={() => signOut.mutate()}>
          <LogOut className="size-4 shrink-0" aria-hidden /> Sign out
        </button>
      </div>
      {signOut.isError && <ErrorText>{sentence(signOut.error)}</ErrorText>}
    </div>
  )
}

function Sidebar({ login }: { login: string }) {
  return (
    <div className="flex h-full min-h-0 flex-col border-r border-line bg-panel">
      <div className="flex items-center gap-2 p-3">
        <Link to="/" className="flex min-h-11 items-center gap-2 font-semibold">
          <img src="/favicon.svg" alt="" className="size-6" /> kndl
        </Link>
        <Link
          to="/new"
          className="ml-auto inline-flex min-h-11 items-center gap-1 rounded-lg bg-accent px-3 text-sm font-medium text-accent-ink md:min-h-9"
        >
          <Plus className="size-4" aria-hidden /> New Session
        </Link>
      </div>
      <SessionList />
      <Menu login={login} />
    </div>
  )
}

// One column on a phone: the list, or the page; two beside each other where there is room.
export function Shell() {
  const me = useMe()
  const isHome = useMatchRoute()({ to: '/' }) !== false

  if (me.isPending) return <Loading what="kndl" />
  if (me.isError)
    return (
      <main className="p-6">
        <ErrorText retry={() => void me.refetch()}>{sentence(me.error)}</ErrorText>
      </main>
    )
  if (me.data === null) return <SignIn />
  return (
    <div className="flex h-full min-h-0">
      <aside className={`min-h-0 w-full md:block md:w-80 md:shrink-0 ${isHome ? 'block' : 'hidden'}`}>
        <Sidebar login={me.data.login} />
      </aside>
      <main className={`min-h-0 min-w-0 flex-1 md:block ${isHome ? 'hidden' : 'block'}`}>
        <Outlet />
      </main>
    </div>
  )
}
