import { useEffect, useState } from 'react'
import { useNavigate } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import { ArrowUp } from 'lucide-react'

import { reposQuery } from '@/lib/repos'
import { newRequestId } from '@/lib/request-id'
import { Code, hasCode, sentence } from '@/lib/transport'
import { Button } from '@/ui/button'
import { ErrorText, Loading, Notices } from '@/ui/feedback'
import { Select } from '@/ui/field'
import { Page } from '@/ui/page'

import { useCreateSession } from './api/create-session'
import { Lacking, Way } from './lacking'
import { PromptBox } from './prompt-box'

const models = [
  { value: '', label: 'Default model' },
  { value: 'opus', label: 'Opus' },
  { value: 'sonnet', label: 'Sonnet' },
  { value: 'haiku', label: 'Haiku' },
]
const efforts = [
  { value: '', label: 'Default effort' },
  ...['low', 'medium', 'high', 'xhigh', 'max'].map((value) => ({ value, label: `${value} effort` })),
]
const lastRepo = 'kndl.repo'
const draftKey = 'kndl.draft.new'

export function NewSession() {
  const answer = useQuery(reposQuery)
  const create = useCreateSession()
  const navigate = useNavigate()
  const [repo, setRepo] = useState(localStorage.getItem(lastRepo) ?? '')
  const [prompt, setPrompt] = useState(() => sessionStorage.getItem(draftKey) ?? '')
  const [model, setModel] = useState('')
  const [effort, setEffort] = useState('')
  const [requestId, setRequestId] = useState(newRequestId)

  // Whoever goes to set a setup token first finds here what they wrote.
  useEffect(() => sessionStorage.setItem(draftKey, prompt), [prompt])

  if (answer.isPending) return <Loading what="Repos" />
  if (answer.isError)
    return (
      <Page title="New Session">
        <ErrorText retry={() => void answer.refetch()}>{sentence(answer.error)}</ErrorText>
      </Page>
    )
  const { repos, notices } = answer.data
  if (repos.length === 0)
    return (
      <Page title="New Session">
        <Notices>{notices}</Notices>
        <Lacking repoCount={0} />
      </Page>
    )

  const chosen = repos.some((each) => each.name === repo) ? repo : repos[0]!.name
  const start = () => {
    if (create.isPending) return
    localStorage.setItem(lastRepo, chosen)
    create.mutate(
      { requestId, repoName: chosen, prompt, model, effort },
      {
        onSuccess: ({ session }) => {
          setPrompt('')
          void navigate({ to: '/sessions/$sessionId', params: { sessionId: session!.id } })
        },
        onError: () => setRequestId(newRequestId()),
      },
    )
  }

  return (
    <Page title="New Session">
      <Notices>{notices}</Notices>
      <Lacking repoCount={repos.length} />
      <p className="text-muted">
        A real Claude Code starts in a Sandbox of its own on a fresh clone, on your own subscription. Everyone with
        access to the Repo can watch; only you drive.
      </p>
      <PromptBox
        label="What should Claude do?"
        placeholder="What should Claude do?"
        value={prompt}
        onChange={setPrompt}
        onSend={start}
        autoFocus
      >
        <Select
          label="Repo"
          value={chosen}
          onChange={setRepo}
          options={repos.map(({ name }) => ({ value: name, label: name }))}
        />
        <Select label="Model" value={model} onChange={setModel} options={models} />
        <Select label="Effort" value={effort} onChange={setEffort} options={efforts} />
        <Button tone="accent" className="ml-auto" busy={create.isPending} onClick={start} title="Ctrl+Enter">
          Start <ArrowUp className="size-4" aria-hidden />
        </Button>
      </PromptBox>
      {create.isError && (
        <ErrorText>
          {sentence(create.error)}
          {hasCode(create.error, Code.Aborted) && <Way to="/setup-token">Your setup token</Way>}
        </ErrorText>
      )}
    </Page>
  )
}
