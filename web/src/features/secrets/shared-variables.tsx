import { useState } from 'react'

import type { Variable } from '@/gen/kndl/secrets/v1/variable_pb'
import type { Repo } from '@/gen/kndl/repo_access/v1/repo_access_service_pb'
import { sentence } from '@/lib/transport'
import { Button } from '@/ui/button'
import { Confirm } from '@/ui/confirm'
import { ErrorText, Loading } from '@/ui/feedback'
import { Select } from '@/ui/field'

import { useLinkShared, useRemoveShared, useSetShared, useSharedVariables } from './api/variables'
import { meantShared } from './chosen'
import { useBegin, VariableForm, Warnings } from './variable-form'
import { VariableRow } from './variable-row'

interface RowProps {
  variable: Variable
  repos: readonly Repo[]
  onChange(): void
}

function SharedRow({ variable, repos, onChange }: RowProps) {
  const link = useLinkShared()
  const remove = useRemoveShared()
  const [chosen, setChosen] = useState('')
  const { sharedId, repoIds } = variable
  const unlinked = repos.filter((repo) => !repoIds.includes(repo.id))
  return (
    <VariableRow variable={variable}>
      <ul aria-label={`Repos of ${variable.name}`} className="flex flex-wrap gap-2">
        {repoIds.map((repoId) => {
          const name = repos.find((repo) => repo.id === repoId)?.name ?? String(repoId)
          return (
            <li key={String(repoId)}>
              <Button
                disabled={variable.moreRepos}
                busy={link.isPending}
                aria-label={`Unlink ${name}`}
                onClick={() => link.mutate({ sharedId, repoId, linked: false })}
              >
                {name} ×
              </Button>
            </li>
          )
        })}
      </ul>
      {variable.moreRepos && (
        <p className="text-sm text-muted">It is linked to Repos that you may not see, so you may not change it.</p>
      )}
      {!variable.moreRepos && (
        <div className="flex flex-wrap gap-2">
          <Select
            label={`Link ${variable.name} to`}
            value={chosen}
            onChange={setChosen}
            options={[{ value: '', label: 'Link to…' }, ...unlinked.map(({ id, name }) => ({ value: String(id), label: name }))]}
          />
          <Button
            busy={link.isPending}
            disabled={chosen === ''}
            onClick={() => link.mutate({ sharedId, repoId: BigInt(chosen), linked: true }, { onSuccess: () => setChosen('') })}
          >
            Link
          </Button>
          <Button aria-label={`Change ${variable.name}`} onClick={onChange}>
            Change
          </Button>
          <Confirm
            label="Remove"
            of={variable.name}
            question="Its Repos’ Sessions start without it from here on, unless a Repo has its own of that name."
            busy={remove.isPending}
            onConfirm={() => remove.mutate(sharedId)}
          />
        </div>
      )}
      {link.isError && <ErrorText>{sentence(link.error)}</ErrorText>}
      {remove.isError && <ErrorText>{sentence(remove.error)}</ErrorText>}
    </VariableRow>
  )
}

export function SharedVariables({ repos }: { repos: readonly Repo[] }) {
  const shared = useSharedVariables()
  const set = useSetShared()
  const { begin, sharedId, count, change } = useBegin()

  return (
    <section className="flex flex-col gap-3" aria-labelledby="shared-variables">
      <h2 id="shared-variables" className="text-lg font-semibold">
        Shared variables
      </h2>
      <p className="text-sm text-muted">
        Given to the Sessions of each Repo that they are linked to. Whoever may see a linked Repo sees them; who may
        see all of them may change them.
      </p>
      {shared.isPending && <Loading what="the Shared variables" />}
      {shared.isError && <ErrorText retry={() => void shared.refetch()}>{sentence(shared.error)}</ErrorText>}
      {shared.data?.length === 0 && <p className="text-sm text-muted">There are none yet.</p>}
      {shared.data !== undefined && shared.data.length > 0 && (
        <ul aria-label="Shared variables" className="divide-y divide-line rounded-lg border border-line bg-panel">
          {shared.data.map((variable) => (
            <SharedRow
              key={variable.sharedId}
              variable={variable}
              repos={repos}
              onChange={() => change(variable)}
            />
          ))}
        </ul>
      )}
      <VariableForm
        key={count}
        label="Set a Shared variable"
        begin={begin}
        busy={set.isPending}
        error={set.isError ? sentence(set.error) : null}
        onSave={(edit, done) => {
          const meant = meantShared(shared.data ?? [], edit.name, { name: begin.name, sharedId })
          set.mutate({ ...edit, sharedId: meant }, { onSuccess: done })
        }}
      />
      {set.data !== undefined && <Warnings warnings={set.data.warnings} />}
    </section>
  )
}
