import { sentence } from '@/lib/transport'
import { Button } from '@/ui/button'
import { Confirm } from '@/ui/confirm'
import { Empty, ErrorText, Loading, Notices } from '@/ui/feedback'
import { Select } from '@/ui/field'
import { Page } from '@/ui/page'

import { useRemoveVariable, useRepos, useSetVariables, useVariables } from './api/variables'
import { chosenRepo } from './chosen'
import { maskedText } from './masked'
import { Paste } from './paste'
import { RedactionTest } from './redaction-test'
import { SharedVariables } from './shared-variables'
import { useBegin, VariableForm, Warnings } from './variable-form'
import { VariableRow } from './variable-row'

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
                    label="Remove"
                    of={variable.name}
                    question="Sessions start without it from here on, unless a Shared one of that name is linked; those that run keep it until they sleep."
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
      <Paste repoId={repoId} known={variables.data?.variables.filter(({ sharedId }) => sharedId === '').map((own) => own.name) ?? []} />
      <RedactionTest repoId={repoId} name={name} />
    </section>
  )
}

interface Props {
  repoName?: string
  onRepo(name: string): void
}

export function VariablesPage({ repoName, onRepo }: Props) {
  const repos = useRepos()
  const repo = repos.data && chosenRepo(repos.data, repoName)
  const isLost = repo === undefined && repoName !== undefined

  return (
    <Page title="Variables">
      <p className="text-muted">
        What Sessions on a Repo get in their environment: in every process of the Sandbox, so Claude can read them.
      </p>
      {repos.isPending && <Loading what="Repos" />}
      {repos.isError && <ErrorText retry={() => void repos.refetch()}>{sentence(repos.error)}</ErrorText>}
      {repos.data?.length === 0 && <Empty title="There is no Repo that you may see" />}
      {repos.data !== undefined && repos.data.length > 0 && (
        <>
          {isLost && (
            <Notices>{[`There is no Repo ${repoName} that you may see: it was renamed, or you have lost access to it. Choose one.`]}</Notices>
          )}
          <Select
            label="Repo"
            value={repo?.name ?? ''}
            onChange={onRepo}
            options={[
              ...(isLost ? [{ value: '', label: 'Choose a Repo…' }] : []),
              ...repos.data.map(({ name }) => ({ value: name, label: name })),
            ]}
          />
        </>
      )}
      {repo !== undefined && (
        <>
          <RepoVariables key={String(repo.id)} repoId={repo.id} name={repo.name} />
          <SharedVariables repos={repos.data!} />
        </>
      )}
    </Page>
  )
}
