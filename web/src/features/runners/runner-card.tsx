import { useState } from 'react'

import { useRemoveRunner, useRenameRunner, useRotateRunnerToken } from './api/runners'
import { NewToken } from './new-token'
import { Runner_State, type Runner } from '@/gen/kndl/sessions/v1/runners_service_pb'
import { ago } from '@/lib/time'
import { sentence } from '@/lib/transport'
import { Button } from '@/ui/button'
import { Confirm } from '@/ui/confirm'
import { ErrorText } from '@/ui/feedback'
import { Field } from '@/ui/field'

function stateOf(runner: Runner): { text: string; tone: string } {
  switch (runner.state) {
    case Runner_State.CONNECTED:
      return { text: 'connected', tone: 'text-good' }
    case Runner_State.AWAY:
      return { text: `away, last seen ${ago(runner.lastSeenMs)}`, tone: 'text-warn' }
    case Runner_State.REFUSED:
      return { text: 'turned away', tone: 'text-bad' }
    default:
      return { text: 'has not been here yet', tone: 'text-muted' }
  }
}

function OwnersControls({ runner }: { runner: Runner }) {
  const rename = useRenameRunner()
  const rotate = useRotateRunnerToken()
  const remove = useRemoveRunner()
  const [isRenaming, setRenaming] = useState(false)
  const [name, setName] = useState(runner.name)
  const failure = rename.error ?? rotate.error ?? remove.error

  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap gap-2">
        <Button aria-expanded={isRenaming} onClick={() => setRenaming(!isRenaming)}>
          Rename
        </Button>
        <Confirm
          label="Rotate token"
          question="The token that it has is refused from here on: it needs the new one within the hour."
          busy={rotate.isPending}
          onConfirm={() => rotate.mutate(runner.id)}
        />
        <Confirm
          label={`Remove ${runner.name}`}
          question="Its Sessions end and can never be woken; what they did not push is lost. It is refused at once and cut off within the hour."
          busy={remove.isPending}
          onConfirm={() => remove.mutate(runner.id)}
        />
      </div>
      {isRenaming && (
        <form
          className="flex flex-col gap-2"
          onSubmit={(event) => {
            event.preventDefault()
            rename.mutate({ runnerId: runner.id, name: name.trim() }, { onSuccess: () => setRenaming(false) })
          }}
        >
          <Field label="New name" value={name} onChange={setName} autoComplete="off" />
          <Button type="submit" tone="accent" className="self-start" busy={rename.isPending} disabled={name.trim() === ''}>
            Save
          </Button>
        </form>
      )}
      {rotate.isSuccess && <NewToken name={runner.name} token={rotate.data.token} />}
      {failure !== null && <ErrorText>{sentence(failure)}</ErrorText>}
    </div>
  )
}

export function RunnerCard({ runner, isOwner }: { runner: Runner; isOwner: boolean }) {
  const state = stateOf(runner)
  const details = [
    runner.awakeSessions > 0 ? `${runner.awakeSessions} awake` : '',
    runner.version === '' ? '' : `version ${runner.version}${runner.isOutdated ? ', out of date' : ''}`,
    runner.backend,
  ].filter((part) => part !== '')

  return (
    <li className="flex flex-col gap-3 rounded-lg border border-line bg-panel p-4">
      <div className="flex flex-wrap items-baseline justify-between gap-2">
        <h2 className="min-w-0 break-words font-medium">{runner.name}</h2>
        <span className={`text-sm ${state.tone}`}>{state.text}</span>
      </div>
      {details.length > 0 && <p className="text-sm text-muted">{details.join(' · ')}</p>}
      {runner.problem !== '' && <p className="text-sm text-bad">{runner.problem}</p>}
      {runner.updateNote !== '' && <p className="text-sm text-warn">{runner.updateNote}</p>}
      {isOwner && <OwnersControls runner={runner} />}
    </li>
  )
}
