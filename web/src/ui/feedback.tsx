import type { ReactNode } from 'react'
import { LoaderCircle, TriangleAlert } from 'lucide-react'

import { Button } from './button'

export function Loading({ what }: { what: string }) {
  return (
    <p role="status" className="flex items-center gap-2 p-4 text-sm text-muted">
      <LoaderCircle className="size-4 animate-spin" aria-hidden /> Loading {what}…
    </p>
  )
}

export function ErrorText({ children, retry }: { children: ReactNode; retry?: () => void }) {
  return (
    <div role="alert" className="flex items-start gap-2 rounded-lg bg-bad-soft p-3 text-sm text-bad">
      <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
      <span className="min-w-0 flex-1 break-words">{children}</span>
      {retry !== undefined && (
        <Button tone="plain" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  )
}

// What people should know although nothing of theirs failed, a sentence each.
export function Notices({ children }: { children: readonly string[] }) {
  return children.map((text) => (
    <p key={text} role="status" className="rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn">
      {text}
    </p>
  ))
}

// In place of what is not there; `isPage`: all of the page is not.
export function Empty({ title, isPage = false, children }: { title: string; isPage?: boolean; children?: ReactNode }) {
  const Title = isPage ? 'h1' : 'p'
  return (
    <div className="flex flex-col items-center gap-2 p-8 text-center">
      <Title className="font-medium">{title}</Title>
      <div className="max-w-prose text-sm text-muted">{children}</div>
    </div>
  )
}
