import { useLayoutEffect, useRef, type ReactNode } from 'react'

interface Props {
  label: string
  placeholder: string
  value: string
  onChange(value: string): void
  onSend(): void
  onEscape?(): void
  disabled?: boolean
  autoFocus?: boolean
  children: ReactNode // the row of controls under the text
}

const tallest = 320

// A text that grows with what is written. Ctrl or Cmd with Enter sends; Enter alone is a line.
export function PromptBox({ label, placeholder, value, onChange, onSend, onEscape, disabled, autoFocus, children }: Props) {
  const box = useRef<HTMLTextAreaElement>(null)
  useLayoutEffect(() => {
    const area = box.current
    if (area === null) return
    area.style.height = '0'
    area.style.height = `${Math.min(area.scrollHeight, tallest)}px`
  }, [value])

  return (
    <div className="rounded-2xl border border-edge bg-panel p-2 shadow-sm focus-within:border-accent">
      <textarea
        ref={box}
        rows={1}
        aria-label={label}
        placeholder={placeholder}
        value={value}
        disabled={disabled}
        autoFocus={autoFocus}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
            event.preventDefault()
            onSend()
          } else if (event.key === 'Escape' && value === '') {
            onEscape?.()
          }
        }}
        className="block max-h-80 min-h-11 w-full resize-none bg-transparent px-2 py-2 text-base outline-none md:text-sm"
      />
      <div className="flex flex-wrap items-center gap-2">{children}</div>
    </div>
  )
}
