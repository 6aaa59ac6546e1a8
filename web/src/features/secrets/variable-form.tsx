import { useId, useState } from 'react'

import type { VariableWarning } from '@/gen/kndl/secrets/v1/variable_pb'
import { Button } from '@/ui/button'
import { ErrorText } from '@/ui/feedback'
import { Field } from '@/ui/field'

import type { Edit } from './api/variables'

export function Limits() {
  return (
    <details className="text-sm text-muted">
      <summary className="min-h-11 cursor-pointer py-2 md:min-h-9">What masking finds, and what it does not</summary>
      <p className="mt-2">
        A Sensitive value becomes stars wherever a Session shows it as it is, also trimmed, JSON- or URL-encoded, or
        wrapped by a terminal. <strong>Not found</strong> is a value that was transformed before it was printed
        (base64, hashed, cut in pieces), nor one that Claude Code’s own screen wraps with indentation (the transcript
        is still masked). What a script writes to disk stays there, and up to seven characters of a value’s beginning
        may show while it is typed slowly.
      </p>
    </details>
  )
}

export function Check({ label, checked, onChange }: { label: string; checked: boolean; onChange(on: boolean): void }) {
  return (
    <label className="-ml-3 inline-flex min-h-11 items-center text-sm md:-ml-2 md:min-h-9">
      <input type="checkbox" className="size-11 shrink-0 md:size-9" checked={checked} onChange={(event) => onChange(event.target.checked)} />
      {label}
    </label>
  )
}

export function Area({ label, hint, value, onChange }: { label: string; hint: string; value: string; onChange(value: string): void }) {
  const id = useId()
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      <textarea
        id={id}
        value={value}
        rows={3}
        autoComplete="off"
        spellCheck={false}
        aria-describedby={`${id}-hint`}
        onChange={(event) => onChange(event.target.value)}
        className="rounded-lg border border-line bg-panel p-3 font-mono text-base md:text-sm"
      />
      <p id={`${id}-hint`} className="text-xs text-muted">
        {hint}
      </p>
    </div>
  )
}

export function Warnings({ warnings }: { warnings: VariableWarning[] }) {
  return (
    <>
      {warnings.map((warning) => (
        <p key={warning.name} role="status" className="rounded-lg bg-warn-soft p-3 text-sm text-warn">
          {warning.name}: {warning.text}
        </p>
      ))}
    </>
  )
}

interface Props {
  busy: boolean
  error: string | null
  onSave(edit: Edit, done: () => void): void
}

export function VariableForm({ busy, error, onSave }: Props) {
  const [name, setName] = useState('')
  const [value, setValue] = useState('')
  const [sensitive, setSensitive] = useState(true)
  const [atBuild, setAtBuild] = useState(false)
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        onSave({ name: name.trim(), value, sensitive, atBuild }, () => {
          setName('')
          setValue('')
        })
      }}
    >
      <Field label="Name" value={name} onChange={setName} autoComplete="off" />
      <Area
        label="Value"
        hint="One of the same name is replaced. It applies to each Session at its next start or wake."
        value={value}
        onChange={setValue}
      />
      <div className="flex flex-wrap gap-4">
        <Check label="Sensitive: masked, and never shown again" checked={sensitive} onChange={setSensitive} />
        <Check label="Available at build" checked={atBuild} onChange={setAtBuild} />
      </div>
      <Button type="submit" tone="accent" busy={busy} disabled={name.trim() === ''} className="self-start">
        Set
      </Button>
      {error !== null && <ErrorText>{error}</ErrorText>}
    </form>
  )
}
