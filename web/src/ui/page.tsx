import type { ReactNode } from 'react'

import { useTitle } from './title'

export function Page({ title, children }: { title: string; children: ReactNode }) {
  useTitle(title)
  // `relative`: what only screen readers see is placed in here, and does not make the document taller.
  return (
    <div className="relative h-full overflow-y-auto">
      <div className="mx-auto flex w-full max-w-2xl flex-col gap-5 p-4 break-words md:p-8">
        <h1 className="text-xl font-semibold">{title}</h1>
        {children}
      </div>
    </div>
  )
}
