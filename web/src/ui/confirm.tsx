import { useState } from 'react'

import { Button } from './button'

interface Props {
  label: string
  question: string
  busy?: boolean
  onConfirm(): void
}

// A button that asks once more, in its own place; the keyboard is on No then.
export function Confirm({ label, question, busy = false, onConfirm }: Props) {
  const [asks, setAsks] = useState(false)
  if (!asks)
    return (
      <Button tone="danger" busy={busy} className="self-start" onClick={() => setAsks(true)}>
        {label}
      </Button>
    )
  return (
    <div role="group" aria-label={label} className="flex flex-wrap items-center gap-2 rounded-lg bg-bad-soft p-2">
      <p className="min-w-0 flex-1 basis-48 text-sm">{question}</p>
      <Button
        tone="danger"
        onClick={() => {
          setAsks(false)
          onConfirm()
        }}
      >
        Yes, {label[0]!.toLowerCase() + label.slice(1)}
      </Button>
      <Button autoFocus onClick={() => setAsks(false)}>
        No
      </Button>
    </div>
  )
}
