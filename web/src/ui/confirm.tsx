import { useEffect, useRef, useState } from 'react'

import { Button } from './button'

interface Props {
  label: string
  of?: string // what the button is about, for who does not see beside what it stands
  question: string
  busy?: boolean
  onConfirm(): void
}

// A button that asks once more, in its own place. The keyboard is on No then, and back on the button
// after either answer and Escape.
export function Confirm({ label, of, question, busy = false, onConfirm }: Props) {
  const name = of === undefined ? label : `${label} ${of}`
  const yes = (text: string) => `Yes, ${text[0]!.toLowerCase() + text.slice(1)}`
  const [asks, setAsks] = useState(false)
  const isBack = useRef(false)
  const button = useRef<HTMLButtonElement>(null)

  useEffect(() => {
    if (!asks && isBack.current) button.current?.focus()
    isBack.current = asks
  }, [asks])

  if (!asks)
    return (
      <Button ref={button} tone="danger" busy={busy} aria-label={name} className="self-start" onClick={() => setAsks(true)}>
        {label}
      </Button>
    )
  return (
    <div
      role="group"
      aria-label={name}
      className="flex flex-wrap items-center gap-2 rounded-lg bg-bad-soft p-2"
      onKeyDown={(event) => {
        if (event.key === 'Escape') setAsks(false)
      }}
    >
      <p className="min-w-0 flex-1 basis-48 text-sm">{question}</p>
      <div className="flex flex-wrap gap-2">
        <Button
          tone="danger"
          aria-label={yes(name)}
          onClick={() => {
            setAsks(false)
            onConfirm()
          }}
        >
          {yes(label)}
        </Button>
        <Button autoFocus onClick={() => setAsks(false)}>
          No
        </Button>
      </div>
    </div>
  )
}
