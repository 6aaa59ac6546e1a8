import { Laptop, Terminal } from 'lucide-react'

import { AuthenticateRequest_Kind, type SignIn } from '@/gen/kndl/repo_access/v1/repo_access_service_pb'
import { ago, fullTime } from '@/lib/time'
import { sentence } from '@/lib/transport'
import { Button } from '@/ui/button'
import { Confirm } from '@/ui/confirm'
import { ErrorText, Loading } from '@/ui/feedback'
import { Page } from '@/ui/page'

import { useEndAllSignIns, useEndSignIn, useSignIns } from './api/sign-ins'

function Row({ signIn }: { signIn: SignIn }) {
  const end = useEndSignIn()
  const isCli = signIn.kind === AuthenticateRequest_Kind.CLI
  const Icon = isCli ? Terminal : Laptop
  return (
    <li className="flex flex-wrap items-center gap-3 p-3">
      <Icon className="size-5 shrink-0 text-muted" aria-hidden />
      <div className="min-w-0 flex-1">
        <p className="truncate font-medium">
          {isCli ? `kndl on ${signIn.machine}` : signIn.machine === '' ? 'A browser' : signIn.machine}
          {signIn.isCurrent && <span className="ml-2 text-sm font-normal text-good">this one</span>}
        </p>
        <p className="text-sm text-muted">
          last used {ago(signIn.lastUsedAtMs)}, since {fullTime(signIn.createdAtMs)}
        </p>
      </div>
      {!signIn.isCurrent && (
        <Button busy={end.isPending} onClick={() => end.mutate(signIn.id)}>
          Sign out
        </Button>
      )}
      {end.isError && <ErrorText>{sentence(end.error)}</ErrorText>}
    </li>
  )
}

export function SignInsPage() {
  const signIns = useSignIns()
  const endAll = useEndAllSignIns()

  return (
    <Page title="Where you are signed in">
      <p className="text-muted">
        A sign-in ends 30 days after it was last used, and after 90 days in any case.
      </p>
      <p className="text-sm text-muted">
        Another machine:{' '}
        <a className="underline" href="/download/kndl" download>
          download kndl
        </a>{' '}
        (Linux) and run{' '}
        <code className="rounded bg-sunken px-1 font-mono [overflow-wrap:anywhere]">
          kndl login --url {window.location.origin}
        </code>
        .
      </p>
      {signIns.isPending && <Loading what="your sign-ins" />}
      {signIns.isError && <ErrorText retry={() => void signIns.refetch()}>{sentence(signIns.error)}</ErrorText>}
      {signIns.data !== undefined && (
        <ul className="divide-y divide-line rounded-lg border border-line bg-panel">
          {signIns.data.map((signIn) => (
            <Row key={signIn.id} signIn={signIn} />
          ))}
        </ul>
      )}
      <Confirm
        label="Sign out everywhere"
        question="All browsers and machines are signed out, this one too."
        busy={endAll.isPending}
        onConfirm={() => endAll.mutate()}
      />
      {endAll.isError && <ErrorText>{sentence(endAll.error)}</ErrorText>}
    </Page>
  )
}
