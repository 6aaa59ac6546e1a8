import { useState } from 'react'

import { Button } from './button'
import { CutNote } from './cut-note'

const shownChars = 4000

// Long plain text, cut until somebody asks for all of it. `fullBytes`: it was longer still.
export function Clamp({ text, fullBytes = 0n }: { text: string; fullBytes?: bigint }) {
  const [whole, setWhole] = useState(false)
  const cut = !whole && text.length > shownChars
  return (
    <div className="min-w-0">
      <pre className="overflow-x-auto rounded-md bg-sunken p-3 font-mono text-xs leading-relaxed whitespace-pre-wrap [overflow-wrap:anywhere]">
        {cut ? `${text.slice(0, shownChars)}…` : text}
      </pre>
      {cut && (
        <Button tone="quiet" onClick={() => setWhole(true)}>
          Show all {text.length.toLocaleString()} characters
        </Button>
      )}
      <CutNote text={text} fullBytes={fullBytes} />
    </div>
  )
}
