import { useState } from 'react'

import { useDecideDevice, useDevice } from './api/device'
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

function Question({ code }: { code: string }) {
  const device = useDevice(code)
  const decide = useDecideDevice()

  if (device.isPending) return <Loading what="the machine" />
  if (device.isError) return <ErrorText>{sentence(device.error)}</ErrorText>
  if (decide.isSuccess)
    return (
      <p role="status" className="text-good">
        {decide.variables.isApproved ? `${device.data.machine} is signed in as you.` : 'It was refused.'}
      </p>
    )
  return (
    <div className="flex flex-col gap-4 rounded-lg border border-line bg-panel p-4">
      <p>
        Somebody ran <code className="rounded bg-sunken px-1 font-mono text-sm">kndl login</code> on a machine that
        calls itself <strong className="break-all">{device.data.machine}</strong> at{' '}
        {clockTime(device.data.begunAtMs)}. Was it you, and does its terminal show this code?
      </p>
      <p className="text-center font-mono text-2xl tracking-widest" aria-label="Code">
        {code}
      </p>
      <p className="text-sm text-muted">It will be able to do all that you may do with Sessions, until you end it.</p>
      <div className="flex flex-wrap gap-2">
        <Button
          tone="accent"
          busy={decide.isPending}
          onClick={() => decide.mutate({ userCode: code, isApproved: true })}
        >
          Yes, sign it in
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
    <Page title="Sign a machine in">
      {code === '' ? (
        <form
          className="flex flex-col gap-3"
          onSubmit={(event) => {
            event.preventDefault()
            setCode(typed.trim().toUpperCase())
          }}
        >
          <Field label="The code that kndl login shows" value={typed} onChange={setTyped} autoComplete="off" />
          <Button type="submit" tone="accent" disabled={typed.trim() === ''}>
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
