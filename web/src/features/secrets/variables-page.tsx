import { useState } from 'react'

import { sentence } from '@/lib/transport'
import { Button } from '@/ui/button'
import { Confirm } from '@/ui/confirm'
import { Empty, ErrorText, Loading } from '@/ui/feedback'
import { Select } from '@/ui/field'
import { Page } from '@/ui/page'

import { useRemoveVariable, useRepos, useSetVariables, useVariables } from './api/variables'
import { parseDotenv } from './dotenv'
import { maskedText } from './masked'
import { RedactionTest } from './redaction-test'
import { SharedVariables } from './shared-variables'
import { Area, Check, Limits, useBegin, VariableForm, Warnings } from './variable-form'
import { VariableRow } from './variable-row'

function Paste({ repoId }: { repoId: bigint }) {
  const set = useSetVariables(repoId)
  const [text, setText] = useState('')
  const [sensitive, setSensitive] = useState(true)
  const [wrong, setWrong] = useState<string | null>(null)
  return (
    <details>
      <summary className="min-h-11 cursor-pointer py-2 text-sm md:min-h-9">Paste a .env file</summary>
      <form
        className="mt-3 flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          setWrong(null)
          try {
            const variables = parseDotenv(text).map((entry) => ({ ...entry, sensitive, atBuild: false }))
            set.mutate(variables, { onSuccess: () => setText('') })
          } catch (error) {
            setWrong(sentence(error))
          }
        }}
      >
        <Area label=".env" hint="Lines NAME=value. All of them are set, or none." value={text} onChange={setText} />
        <Check label="All of them are Sensitive" checked={sensitive} onChange={setSensitive} />
        {sensitive && <Limits />}
        <Button type="submit" busy={set.isPending} disabled={text.trim() === ''} className="self-start">
          Set all
        </Button>
        {wrong !== null && <ErrorText>{wrong}</ErrorText>}
        {set.isError && <ErrorText>{sentence(set.error)}</ErrorText>}
        {set.data !== undefined && <Warnings warnings={set.data.warnings} />}
      </form>
    </details>
  )
}

function RepoVariables({ repoId, name }: { repoId: bigint; name: string }) {
  const variables = useVariables(repoId)
  const set = useSetVariables(repoId)
  const remove = useRemoveVariable(repoId)
  const { begin, count, change } = useBegin()

  return (
    <section className="flex flex-col gap-3" aria-labelledby="repo-variables">
      <h2 id="repo-variables" className="text-lg font-semibold">
        Variables of {name}
      </h2>
      {variables.isPending && <Loading what="the Variables" />}
      {variables.isError && <ErrorText retry={() => void variables.refetch()}>{sentence(variables.error)}</ErrorText>}
      {variables.data?.variables.length === 0 && <p className="text-sm text-muted">{name} has no Variables yet.</p>}
      {variables.data !== undefined && variables.data.variables.length > 0 && (
        <ul aria-label="Variables" className="divide-y divide-line rounded-lg border border-line bg-panel">
          {variables.data.variables.map((variable) => (
            <VariableRow key={`${variable.name} ${variable.sharedId}`} variable={variable}>
              {variable.sharedId === '' && (
                <>
                  <Button aria-label={`Change ${variable.name}`} onClick={() => change(variable)}>
                    Change
                  </Button>
                  <Confirm
                    label={`Remove ${variable.name}`}
                    question="Sessions start without it from here on; those that run keep it until they sleep."
                    busy={remove.isPending}
                    onConfirm={() => remove.mutate(variable.name)}
                  />
                </>
              )}
            </VariableRow>
          ))}
        </ul>
      )}
      {remove.isError && <ErrorText>{sentence(remove.error)}</ErrorText>}
      {variables.data?.gitTokens !== undefined && variables.data.gitTokens.count > 0n && (
        <p className="text-sm text-muted">git tokens of its Sandboxes: {maskedText(variables.data.gitTokens)}</p>
      )}
      <VariableForm
        key={count}
        label="Set a Variable"
        begin={begin}
        busy={set.isPending}
        error={set.isError ? sentence(set.error) : null}
        onSave={(edit, done) => set.mutate([edit], { onSuccess: done })}
      />
      {set.data !== undefined && <Warnings warnings={set.data.warnings} />}
      <Paste repoId={repoId} />
      <RedactionTest repoId={repoId} name={name} />
    </section>
  )
}

export function VariablesPage() {
  const repos = useRepos()
  const [chosen, setChosen] = useState('')
  const repo = repos.data?.find(({ id }) => String(id) === chosen) ?? repos.data?.[0]

  return (
    <Page title="Variables">
      <p className="text-muted">
        What Sessions on a Repo get in their environment: in every process of the Sandbox, so Claude can read them.
      </p>
      {repos.isPending && <Loading what="Repos" />}
      {repos.isError && <ErrorText retry={() => void repos.refetch()}>{sentence(repos.error)}</ErrorText>}
      {repos.data?.length === 0 && <Empty title="There is no Repo that you may see" />}
      {repo !== undefined && (
        <>
          <Select
            label="Repo"
            value={String(repo.id)}
            onChange={setChosen}
            options={repos.data!.map(({ id, name }) => ({ value: String(id), label: name }))}
          />
          <RepoVariables key={String(repo.id)} repoId={repo.id} name={repo.name} />
          <SharedVariables repos={repos.data!} />
        </>
      )}
    </Page>
  )
}
