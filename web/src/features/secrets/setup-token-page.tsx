import { useState } from 'react'

import { maskedText } from './masked'
import { useRemoveSetupToken, useSetSetupToken, useSetupToken } from './api/setup-token'
import { tokenEnd } from '@/lib/token-end'
import { sentence } from '@/lib/transport'
import { fullTime } from '@/lib/time'
import { Button } from '@/ui/button'
import { Confirm } from '@/ui/confirm'
import { ErrorText, Loading } from '@/ui/feedback'
import { Field } from '@/ui/field'
import { Page } from '@/ui/page'

function EndWarning({ expiresAtMs }: { expiresAtMs: bigint }) {
  const end = tokenEnd(expiresAtMs)
  if (end === 'far') return null
  return (
    <p role="status" className="rounded-lg bg-warn-soft p-3 text-sm text-warn">
      {end === 'past'
        ? 'Your token has probably ended: it is a year old. Make a new one and replace it.'
        : `Your token ends by ${fullTime(expiresAtMs)}. Make a new one and replace it before; your Sessions cannot run without.`}
    </p>
  )
}

export function SetupTokenPage() {
  const token = useSetupToken()
  const set = useSetSetupToken()
  const remove = useRemoveSetupToken()
  const [value, setValue] = useState('')

  return (
    <Page title="Your Claude setup token">
      <p className="text-muted">
        Your Sessions run on your own Claude subscription. Make a token with{' '}
        <code className="rounded bg-sunken px-1 font-mono text-sm">claude setup-token</code> on your machine and
        paste it here. It is kept encrypted, given only to your own Sessions’ Claude Code, and never shown again; whatever
        a Session says of it is stars.
      </p>
      {token.isPending && <Loading what="your token" />}
      {token.isError && <ErrorText retry={() => void token.refetch()}>{sentence(token.error)}</ErrorText>}
      {token.data === null && <p className="rounded-lg bg-warn-soft p-3 text-warn">You have no setup token yet, so you cannot start a Session.</p>}
      {token.data != null && <EndWarning expiresAtMs={token.data.expiresAtMs} />}
      {token.data != null && (
        <div className="flex flex-wrap items-center justify-between gap-3 rounded-lg border border-line bg-panel p-4">
          <div>
            <p className="font-medium">A token is set</p>
            <p className="text-sm text-muted">
              since {fullTime(token.data.setAtMs)}; it ends by {fullTime(token.data.expiresAtMs)};{' '}
              {maskedText(token.data.masked)}
            </p>
          </div>
          <Confirm
            label="Remove"
            question="Your awake Sessions go to sleep at once, also in the middle of a Turn."
            busy={remove.isPending}
            onConfirm={() => {
              set.reset()
              remove.mutate()
            }}
          />
        </div>
      )}
      {remove.isError && <ErrorText>{sentence(remove.error)}</ErrorText>}
      {remove.isSuccess && token.data === null && (
        <p role="status" className="text-good">
          Removed. Your awake Sessions go to sleep, each saying why.
        </p>
      )}
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          remove.reset()
          set.mutate(value.trim(), { onSuccess: () => setValue('') })
        }}
      >
        <Field
          label={token.data == null ? 'Setup token' : 'Replace it with'}
          hint="Begins with sk-ant-oat; an API key (sk-ant-api…) is refused. Removing or replacing a token puts your awake Sessions to sleep."
          type="password"
          value={value}
          onChange={setValue}
          autoComplete="off"
        />
        <Button className="self-start" type="submit" tone="accent" busy={set.isPending} disabled={value.trim() === ''}>
          Save
        </Button>
        {set.isError && <ErrorText>{sentence(set.error)}</ErrorText>}
        {set.isSuccess && (
          <p role="status" className="text-good">
            Saved. Sessions have it from their next start or wake on; those that ran on another one go to sleep.
          </p>
        )}
      </form>
    </Page>
  )
}
