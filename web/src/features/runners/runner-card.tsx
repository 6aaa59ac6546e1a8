import { useState } from 'react'

import { useRemoveRunner, useRenameRunner, useRotateRunnerToken } from './api/runners'
import { NewToken } from './new-token'
import { Runner_State, type Runner } from '@/gen/kndl/sessions/v1/runners_service_pb'
import { ago } from '@/lib/time'
import { sentence } from '@/lib/transport'
import { Button } from '@/ui/button'
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

type Doing = 'nothing' | 'renaming' | 'removing'

function OwnersControls({ runner }: { runner: Runner }) {
  const rename = useRenameRunner()
  const rotate = useRotateRunnerToken()
  const remove = useRemoveRunner()
  const [doing, setDoing] = useState<Doing>('nothing')
  const [name, setName] = useState(runner.name)
  const failure = rename.error ?? rotate.error ?? remove.error

  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap gap-2">
        <Button onClick={() => setDoing(doing === 'renaming' ? 'nothing' : 'renaming')}>Rename</Button>
        <Button busy={rotate.isPending} onClick={() => rotate.mutate(runner.id)}>
          Rotate token
        </Button>
        <Button tone="danger" onClick={() => setDoing(doing === 'removing' ? 'nothing' : 'removing')}>
          Remove
        </Button>
      </div>
      {doing === 'renaming' && (
        <form
          className="flex flex-col gap-2"
          onSubmit={(event) => {
            event.preventDefault()
            rename.mutate({ runnerId: runner.id, name: name.trim() }, { onSuccess: () => setDoing('nothing') })
          }}
        >
          <Field label="New name" value={name} onChange={setName} autoComplete="off" />
          <Button type="submit" tone="accent" className="self-start" busy={rename.isPending} disabled={name.trim() === ''}>
            Save
          </Button>
        </form>
      )}
      {doing === 'removing' && (
        <div className="flex flex-col gap-2 rounded-lg bg-bad-soft p-3 text-sm text-bad">
          <p>
            Its Sessions end and can never be woken; what they did not push is lost. It is refused at once and cut off
            within the hour.
          </p>
          <Button tone="danger" className="self-start" busy={remove.isPending} onClick={() => remove.mutate(runner.id)}>
            Remove {runner.name}
          </Button>
        </div>
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
