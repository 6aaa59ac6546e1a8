import { useState } from 'react'

import { useDevLogin, useGitHubSignIn, useSignInMethods } from './api/sign-in'
import { readArrival, returnPath, type Arrival } from './arrival'
import { Button } from '@/ui/button'
import { ErrorText } from '@/ui/feedback'
import { Field } from '@/ui/field'
import { sentence } from '@/lib/transport'

const words: Record<Arrival['kind'], { text: string; button: string }> = {
  setup: {
    text: 'This kndl has no Owner yet. Sign in with the GitHub account that is to own it; this link works once.',
    button: 'Sign in with GitHub and become the Owner',
  },
  invite: {
    text: 'You are invited. Sign in with the GitHub account that the Invite is for; this link works once.',
    button: 'Accept with GitHub',
  },
  refused: { text: 'This Hub is invite-only.', button: 'Sign in with GitHub' },
  unavailable: { text: 'This Hub is invite-only.', button: 'Try again with GitHub' },
  none: { text: 'This Hub is invite-only.', button: 'Sign in with GitHub' },
}

function DevLogin() {
  const signIn = useDevLogin()
  const [login, setLogin] = useState('ada')
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        signIn.mutate(login.trim())
      }}
    >
      <Field
        label="GitHub login"
        hint="Dev login: this Hub is on your own machine, so a login is enough."
        value={login}
        onChange={setLogin}
        autoComplete="username"
      />
      <Button type="submit" tone="accent" busy={signIn.isPending} disabled={login.trim() === ''}>
        Sign in
      </Button>
      {signIn.isError && <ErrorText>{sentence(signIn.error)}</ErrorText>}
    </form>
  )
}

function GitHubButton({ arrival, tone }: { arrival: Arrival; tone: 'accent' | 'plain' }) {
  const signIn = useGitHubSignIn()
  return (
    <div className="flex flex-col gap-3">
      <Button
        tone={tone}
        busy={signIn.isPending || signIn.isSuccess}
        onClick={() =>
          signIn.mutate({
            ...('secret' in arrival ? { secret: arrival.secret } : {}),
            returnTo: returnPath(window.location),
          })
        }
      >
        {words[arrival.kind].button}
      </Button>
      {signIn.isError && <ErrorText>{sentence(signIn.error)}</ErrorText>}
    </div>
  )
}

// Everyone who is not signed in sees this, and nothing of the Hub.
export function SignIn() {
  const methods = useSignInMethods()
  const [arrival] = useState(() => readArrival(window.location.hash))

  return (
    <main className="mx-auto flex min-h-full max-w-sm flex-col justify-center gap-6 p-6">
      <div className="flex items-center gap-3">
        <img src="/favicon.svg" alt="" className="size-10" />
        <h1 className="text-2xl font-semibold">kndl</h1>
      </div>
      {arrival.kind === 'refused' ? (
        <ErrorText>{words.refused.text}</ErrorText>
      ) : (
        <p className="text-muted">{words[arrival.kind].text}</p>
      )}
      {arrival.kind === 'unavailable' && (
        <ErrorText>The Hub could not find out who you are. Try again in a minute.</ErrorText>
      )}
      {methods.isError && (
        <ErrorText retry={() => void methods.refetch()}>{sentence(methods.error)}</ErrorText>
      )}
      {methods.data?.github === true && (
        <GitHubButton arrival={arrival} tone={methods.data.dev ? 'plain' : 'accent'} />
      )}
      {methods.data?.dev === true && <DevLogin />}
      {methods.data?.github === false && methods.data.dev === false && (
        <ErrorText>Nobody can sign in: this Hub has no GitHub client. Whoever runs it sets one.</ErrorText>
      )}
    </main>
  )
}
