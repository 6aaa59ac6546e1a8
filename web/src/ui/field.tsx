import { useId, type ReactNode } from 'react'

interface LabelledProps {
  id: string // of what one writes into; its hint is `${id}-hint`
  label: string
  hint?: string
  children: ReactNode
}

// What one writes into, its name above it and a hint below.
export function Labelled({ id, label, hint, children }: LabelledProps) {
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      {children}
      {hint !== undefined && (
        <p id={`${id}-hint`} className="text-xs text-muted">
          {hint}
        </p>
      )}
    </div>
  )
}

interface Props {
  label: string
  hint?: string
  value: string
  onChange(value: string): void
  type?: 'text' | 'password'
  autoComplete?: string
}

export function Field({ label, hint, value, onChange, type = 'text', autoComplete }: Props) {
  const id = useId()
  return (
    <Labelled id={id} label={label} hint={hint}>
      <input
        id={id}
        type={type}
        value={value}
        autoComplete={autoComplete}
        autoCapitalize="none"
        autoCorrect="off"
        spellCheck={false}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.target.value)}
        className="min-h-11 rounded-lg border border-edge bg-panel px-3 text-base md:min-h-10 md:text-sm"
      />
    </Labelled>
  )
}

interface SelectProps {
  label: string
  value: string
  onChange(value: string): void
  options: readonly { value: string; label: string }[]
}

export function Select({ label, value, onChange, options }: SelectProps) {
  return (
    <label className="inline-flex items-center">
      <span className="sr-only">{label}</span>
      <select
        value={value}
        onChange={(event) => onChange(event.target.value)}
        className="min-h-11 max-w-full rounded-lg border border-edge bg-panel px-2 text-sm md:min-h-9"
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </label>
  )
}
