import { useId, useState, type ReactNode } from 'react'

import type { Variable, VariableWarning } from '@/gen/kndl/secrets/v1/variable_pb'
import { Button } from '@/ui/button'
import { ErrorText } from '@/ui/feedback'
import { Field, Labelled } from '@/ui/field'

import type { Edit } from './api/variables'

// Told where a value is set: masking has limits.
export function Limits() {
  return (
    <div className="text-sm text-muted">
      <p>
        A Sensitive value is stars wherever a Session shows it as it is, and nobody can read it here again. It is{' '}
        <strong>not found</strong> where it was transformed first: base64, hashed, cut in pieces.
      </p>
      <details>
        <summary className="min-h-11 cursor-pointer py-2 md:min-h-9">What masking finds, and what it does not</summary>
        <p className="mt-2">
          Found: the value as it is, trimmed, JSON- or URL-encoded, each long line of one that has several, and wrapped
          by a terminal. Not found: a value that was transformed before it was printed (base64, hashed, cut in pieces),
          nor one that Claude Code’s own screen wraps with indentation (the transcript is still masked). What a script
          writes to disk stays there, and up to seven characters of a value’s beginning may show while it is typed
          slowly.
        </p>
      </details>
    </div>
  )
}

interface CheckProps {
  label: ReactNode
  checked: boolean
  onChange(on: boolean): void
}

export function Check({ label, checked, onChange }: CheckProps) {
  return (
    <label className="-ml-3 inline-flex min-h-11 items-center text-sm md:-ml-2 md:min-h-9">
      <input type="checkbox" className="size-11 shrink-0 md:size-9" checked={checked} onChange={(event) => onChange(event.target.checked)} />
      {label}
    </label>
  )
}

interface AreaProps {
  label: string
  hint: string
  value: string
  rows?: number
  isSecret?: boolean
  autoFocus?: boolean
  onChange(value: string): void
}

export function Area({ label, hint, value, rows = 3, isSecret = false, autoFocus, onChange }: AreaProps) {
  const id = useId()
  return (
    <Labelled id={id} label={label} hint={hint}>
      <textarea
        id={id}
        value={value}
        rows={rows}
        autoComplete="off"
        autoCapitalize="none"
        autoFocus={autoFocus}
        spellCheck={false}
        aria-describedby={`${id}-hint`}
        onChange={(event) => onChange(event.target.value)}
        className={`rounded-lg border border-edge bg-panel p-3 font-mono text-base md:text-sm ${isSecret ? 'secret-text' : ''}`}
      />
    </Labelled>
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

const empty: Edit = { name: '', value: '', sensitive: true, atBuild: false }

// A form begins empty, or anew with what is to be changed. A Sensitive value does not come back.
export function useBegin() {
  const [begun, setBegun] = useState({ begin: empty, sharedId: '', count: 0 })
  return {
    ...begun,
    change: ({ name, value, sensitive, atBuild, sharedId }: Variable) =>
      setBegun({ begin: { name, value: sensitive ? '' : value, sensitive, atBuild }, sharedId, count: begun.count + 1 }),
  }
}

interface Props {
  label: string
  begin: Edit
  busy: boolean
  error: string | null
  onSave(edit: Edit, done: () => void): void
}

export function VariableForm({ label, begin, busy, error, onSave }: Props) {
  const [edit, setEdit] = useState(begin)
  const [isShown, setShown] = useState(false)
  const [saved, setSaved] = useState('')
  const change = (part: Partial<Edit>) => setEdit({ ...edit, ...part })
  return (
    <form
      aria-label={label}
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        setSaved('')
        const name = edit.name.trim()
        onSave({ ...edit, name }, () => {
          setEdit(empty)
          setSaved(name)
        })
      }}
    >
      <h3 className="font-medium">{label}</h3>
      <Field label="Name" value={edit.name} onChange={(name) => change({ name })} autoComplete="off" />
      <Area
        label="Value"
        hint="One of the same name is replaced. It applies to each Session at its next start or wake."
        value={edit.value}
        isSecret={edit.sensitive && !isShown}
        autoFocus={begin.name !== ''}
        onChange={(value) => change({ value })}
      />
      <div className="flex flex-wrap gap-x-4">
        <Check
          label="Sensitive: masked, and never shown again"
          checked={edit.sensitive}
          onChange={(sensitive) => change({ sensitive })}
        />
        {edit.sensitive && <Check label="Show what I type" checked={isShown} onChange={setShown} />}
        <Check
          label="Available at build, too (kept for when there are Builds: there are none yet)"
          checked={edit.atBuild}
          onChange={(atBuild) => change({ atBuild })}
        />
      </div>
      {edit.sensitive && <Limits />}
      <Button type="submit" tone="accent" busy={busy} disabled={edit.name.trim() === ''} className="self-start">
        Set
      </Button>
      {error !== null && <ErrorText>{error}</ErrorText>}
      {saved !== '' && (
        <p role="status" className="text-sm text-good">
          {saved} is set; each Session gets it at its next start or wake.
        </p>
      )}
    </form>
  )
}
