import type { ReactNode } from 'react'
import { Link } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'

// A page with the way back to the list, which a phone has no room for beside it.
export function WithBack({ children }: { children: ReactNode }) {
  return (
    <div className="flex h-full min-h-0 flex-col">
      <Link to="/" className="flex min-h-11 items-center gap-2 px-4 text-sm text-muted md:hidden">
        <ArrowLeft className="size-4" aria-hidden /> Sessions
      </Link>
      <div className="min-h-0 flex-1">{children}</div>
    </div>
  )
}
