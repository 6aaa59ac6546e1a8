import { useState } from 'react'

import { sentence } from '@/lib/transport'
import { Button } from '@/ui/button'
import { ErrorText } from '@/ui/feedback'

import { useSetVariables } from './api/variables'
import { parseDotenv, type Entry } from './dotenv'
import { isTooShort } from './value'
import { Area, Check, Limits, Warnings } from './variable-form'

function read(text: string): { entries: Entry[]; wrong: string | null } {
  try {
    const entries = parseDotenv(text)
    return { entries, wrong: entries.length === 0 ? 'There is no line NAME=value.' : null }
  } catch (error) {
    return { entries: [], wrong: sentence(error) }
  }
}

interface ListProps {
  entries: Entry[]
  known: readonly string[]
  plain: ReadonlySet<string>
  onPlain(plain: ReadonlySet<string>): void
}

// What was read, before any of it is set, and which of it is Sensitive.
function Entries({ entries, known, plain, onPlain }: ListProps) {
  return (
    <fieldset className="rounded-lg border border-line bg-panel px-3 py-1">
      <legend className="px-1 text-sm">Sensitive: masked, and never shown again</legend>
      <div className="border-b border-line">
        <Check
          label="All of them are Sensitive"
          checked={entries.every(({ name }) => !plain.has(name))}
          onChange={(all) => onPlain(new Set(all ? [] : entries.map(({ name }) => name)))}
        />
      </div>
      <ul aria-label="What is read">
        {entries.map(({ name, value }) => {
          const isSensitive = !plain.has(name)
          return (
            <li key={name} className="flex flex-wrap items-center gap-x-3">
              <Check
                label={<span className="font-mono break-all">{name}</span>}
                checked={isSensitive}
                onChange={(on) => {
                  const next = new Set(plain)
                  if (on) next.delete(name)
                  else next.add(name)
                  onPlain(next)
                }}
              />
              {known.includes(name) && <span className="text-sm text-muted">replaces the one that is there</span>}
              {isSensitive && isTooShort(value) && (
                <span className="text-sm text-bad">too short to be masked: not Sensitive, or at least 4 characters</span>
              )}
            </li>
          )
        })}
      </ul>
    </fieldset>
  )
}

function count(entries: readonly unknown[]) {
  return entries.length === 1 ? '1 Variable' : `${entries.length} Variables`
}

export function Paste({ repoId, known }: { repoId: bigint; known: readonly string[] }) {
  const set = useSetVariables(repoId)
  const [text, setText] = useState('')
  const [plain, setPlain] = useState<ReadonlySet<string>>(new Set())
  const [tried, setTried] = useState(false)
  const { entries, wrong } = read(text)
  return (
    <details>
      <summary className="min-h-11 cursor-pointer py-2 text-sm md:min-h-9">Paste a .env file</summary>
      <form
        aria-label="Paste a .env file"
        className="mt-3 flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          setTried(true)
          set.reset()
          if (wrong !== null) return
          const edits = entries.map((entry) => ({ ...entry, sensitive: !plain.has(entry.name), atBuild: false }))
          set.mutate(edits, {
            onSuccess: () => {
              setText('')
              setPlain(new Set())
              setTried(false)
            },
          })
        }}
      >
        <Area
          label=".env"
          hint="Lines NAME=value, with comments, quotes and export as in a shell. All of them are set, or none."
          rows={8}
          value={text}
          onChange={setText}
        />
        {entries.length > 0 && <Entries entries={entries} known={known} plain={plain} onPlain={setPlain} />}
        {entries.some(({ name }) => !plain.has(name)) && <Limits />}
        <Button type="submit" busy={set.isPending} disabled={text.trim() === ''} className="self-start">
          {entries.length === 0 ? 'Set all' : `Set ${count(entries)}`}
        </Button>
        {wrong !== null && tried && <ErrorText>{wrong}</ErrorText>}
        {set.isError && <ErrorText>{sentence(set.error)}</ErrorText>}
        {set.data !== undefined && text === '' && (
          <p role="status" className="text-sm text-good">
            {count(set.data.variables)} set; each Session gets them at its next start or wake.
          </p>
        )}
        {set.data !== undefined && <Warnings warnings={set.data.warnings} />}
      </form>
    </details>
  )
}
