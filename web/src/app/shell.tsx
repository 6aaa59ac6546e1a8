import { useState } from 'react'
import { Link, Outlet, useMatchRoute } from '@tanstack/react-router'
import { Braces, KeyRound, Laptop, LogOut, Monitor, Moon, Plus, Server, Sun, Users, type LucideIcon } from 'lucide-react'

import { useMe } from '@/features/auth/api/whoami'
import { useSignOut } from '@/features/auth/api/sign-in'
import { SignIn } from '@/features/auth/sign-in'
import { SessionList } from '@/features/sessions/session-list'
import { currentTheme, setTheme, type Theme } from '@/lib/theme'
import { sentence } from '@/lib/transport'
import { Button } from '@/ui/button'
import { ErrorText, Loading } from '@/ui/feedback'

const nextTheme: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' }

function ThemeButton() {
  const [theme, set] = useState(currentTheme)
  const Icon = theme === 'system' ? Monitor : theme === 'light' ? Sun : Moon
  return (
    <Button
      tone="quiet"
      aria-label={`Theme: ${theme}`}
      title={`Theme: ${theme}`}
      onClick={() => {
        setTheme(nextTheme[theme])
        set(nextTheme[theme])
      }}
    >
      <Icon className="size-4" aria-hidden />
    </Button>
  )
}

function IconLink({ to, label, icon: Icon }: { to: '/members' | '/runners' | '/variables' | '/sign-ins' | '/setup-token'; label: string; icon: LucideIcon }) {
  return (
    <Link
      to={to}
      aria-label={label}
      title={label}
      className="inline-flex size-11 shrink-0 items-center justify-center rounded-lg text-muted hover:bg-sunken hover:text-ink md:size-9"
    >
      <Icon className="size-4" aria-hidden />
    </Link>
  )
}

function Sidebar({ login }: { login: string }) {
  const signOut = useSignOut()
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
      <div className="mt-auto flex flex-wrap items-center justify-between border-t border-line p-2 pb-[max(0.5rem,env(safe-area-inset-bottom))] text-sm">
        <span className="min-w-0 basis-full truncate px-2 pt-1 text-muted">{login}</span>
        <IconLink to="/variables" label="Variables" icon={Braces} />
        <IconLink to="/members" label="Members" icon={Users} />
        <IconLink to="/runners" label="Runners" icon={Server} />
        <IconLink to="/sign-ins" label="Where you are signed in" icon={Laptop} />
        <IconLink to="/setup-token" label="Setup token" icon={KeyRound} />
        <ThemeButton />
        <Button tone="quiet" aria-label="Sign out" title="Sign out" onClick={() => signOut.mutate()}>
          <LogOut className="size-4" aria-hidden />
        </Button>
      </div>
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
