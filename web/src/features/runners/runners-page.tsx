import { useState } from 'react'

import { useRegisterRunner, useRunners } from './api/runners'
import { NewToken } from './new-token'
import { RunnerCard } from './runner-card'
import { sentence } from '@/lib/transport'
import { Button } from '@/ui/button'
import { Empty, ErrorText, Loading } from '@/ui/feedback'
import { Field } from '@/ui/field'
import { Page } from '@/ui/page'

function Register() {
  const register = useRegisterRunner()
  const [name, setName] = useState('')

  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        register.mutate(name.trim(), { onSuccess: () => setName('') })
      }}
    >
      <Field label="Register a Runner" hint="A name by which people know the machine." value={name} onChange={setName} autoComplete="off" />
      <Button type="submit" tone="accent" className="self-start" busy={register.isPending} disabled={name.trim() === ''}>
        Register
      </Button>
      {register.isError && <ErrorText>{sentence(register.error)}</ErrorText>}
      {register.isSuccess && <NewToken name={register.data.runner?.name ?? ''} token={register.data.token} />}
    </form>
  )
}

// Every Member sees them; the Owner has the controls.
export function RunnersPage({ isOwner }: { isOwner: boolean }) {
  const runners = useRunners()

  return (
    <Page title="Runners">
      <p className="text-muted">
        The machines that Sessions run on. {isOwner ? '' : 'The Owner registers and removes them.'}
      </p>
      {runners.isPending && <Loading what="the Runners" />}
      {runners.isError && <ErrorText retry={() => void runners.refetch()}>{sentence(runners.error)}</ErrorText>}
      {runners.data?.length === 0 && (
        <Empty title="There is no Runner yet">Sessions need one: a Linux host with the runner-agent.</Empty>
      )}
      <ul className="flex flex-col gap-3">
        {runners.data?.map((runner) => <RunnerCard key={runner.id} runner={runner} isOwner={isOwner} />)}
      </ul>
      {isOwner && <Register />}
    </Page>
  )
}
