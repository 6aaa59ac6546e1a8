import { useState } from 'react'

import { useDecideDevice, useDevice } from './api/device'
import { Purpose } from '@/gen/kndl/repo_access/v1/repo_access_service_pb'
import { clockTime } from '@/lib/time'
import { sentence } from '@/lib/transport'
import { Button } from '@/ui/button'
import { ErrorText, Loading } from '@/ui/feedback'
import { Field } from '@/ui/field'
import { Page } from '@/ui/page'

const codeInAddress = () => {
  const code = decodeURIComponent(window.location.hash.slice(1)).toUpperCase()
  return /^[A-Z]{4}-?[A-Z]{4}$/.test(code) ? code : ''
}

// What a yes is said to.
interface Asked {
  who: string // before the machine's name
  what: string // after it
  means: string
  yes: string
  done: (machine: string) => string
}

const SIGN_IN: Asked = {
  who: 'Somebody ran kndl login on a machine that calls itself',
  what: '',
  means: 'It will be able to do all that you may do with Sessions, until you end it.',
  yes: 'Yes, sign it in',
  done: (machine) => `${machine} is signed in as you.`,
}

// A CLI that is signed in as you wants to do what its token may not.
const confirmation = (what: string, means: string): Asked => ({
  who: 'kndl on',
  what,
  means: `${means} This is for one command, for ten minutes at most.`,
  yes: 'Yes, let it',
  done: (machine) => `kndl on ${machine} goes on.`,
})

const ASKED = new Map<Purpose, Asked>([
  [Purpose.UNSPECIFIED, SIGN_IN],
  [Purpose.SEE_MEMBERS, confirmation('see the Members and Invites', 'It changes nothing.')],
  [
    Purpose.CHANGE_MEMBERS,
    confirmation('invite or remove Members', 'Who is invited may come in; who is removed is out at once.'),
  ],
  [
    Purpose.SETUP_TOKEN,
    confirmation('replace or remove your setup token', 'Your Sessions run on it, at the cost of whoever it belongs to.'),
  ],
  [Purpose.RUNNERS, confirmation('administer Runners', 'Sessions of a Runner that is removed never wake again.')],
])

function Question({ code }: { code: string }) {
  const device = useDevice(code)
  const decide = useDecideDevice()

  if (device.isPending) return <Loading what="the machine" />
  if (device.isError) return <ErrorText>{sentence(device.error)}</ErrorText>
  const asked = ASKED.get(device.data.purpose)
  if (!asked) return <ErrorText>This page is older than the Hub. Reload it.</ErrorText>
  if (decide.isSuccess)
    return (
      <p role="status" className="text-good">
        {decide.variables.isApproved ? asked.done(device.data.machine) : 'It was refused.'}
      </p>
    )
  return (
    <div className="flex flex-col gap-4 rounded-lg border border-line bg-panel p-4">
      <p>
        {asked.who} <strong className="break-all">{device.data.machine}</strong>
        {asked.what !== '' && (
          <>
            {' '}
            wants to <strong>{asked.what}</strong>
          </>
        )}
        . It asked at {clockTime(device.data.begunAtMs)}. Was it you, and does its terminal show this code?
      </p>
      <p className="text-center font-mono text-2xl tracking-widest" aria-label="Code">
        {code}
      </p>
      <p className="text-sm text-muted">{asked.means}</p>
      <div className="flex flex-wrap gap-2">
        <Button
          tone="accent"
          busy={decide.isPending}
          onClick={() => decide.mutate({ userCode: code, isApproved: true })}
        >
          {asked.yes}
        </Button>
        <Button disabled={decide.isPending} onClick={() => decide.mutate({ userCode: code, isApproved: false })}>
          No
        </Button>
      </div>
      {decide.isError && <ErrorText>{sentence(decide.error)}</ErrorText>}
    </div>
  )
}

export function DevicePage() {
  const [code, setCode] = useState(codeInAddress)
  const [typed, setTyped] = useState('')

  return (
    <Page title="A machine asks">
      {code === '' ? (
        <form
          className="flex flex-col gap-3"
          onSubmit={(event) => {
            event.preventDefault()
            setCode(typed.trim().toUpperCase())
          }}
        >
          <Field label="The code that kndl shows" value={typed} onChange={setTyped} autoComplete="off" />
          <Button className="self-start" type="submit" tone="accent" disabled={typed.trim() === ''}>
            Go on
          </Button>
        </form>
      ) : (
        <>
          <Question code={code} />
          <Button tone="quiet" className="self-start" onClick={() => setCode('')}>
            Another code
          </Button>
        </>
      )}
    </Page>
  )
}
