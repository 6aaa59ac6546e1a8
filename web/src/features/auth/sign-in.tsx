import { useState } from 'react'

import { useDevLogin, useSignInMethods } from './api/sign-in'
import { Button } from '@/ui/button'
import { ErrorText } from '@/ui/feedback'
import { Field } from '@/ui/field'
import { sentence } from '@/lib/transport'

// Everyone who is not signed in sees this, and nothing of the Hub.
export function SignIn() {
  const methods = useSignInMethods()
  const signIn = useDevLogin()
  const [login, setLogin] = useState('ada')

  return (
    <main className="mx-auto flex min-h-full max-w-sm flex-col justify-center gap-6 p-6">
      <div className="flex items-center gap-3">
        <img src="/favicon.svg" alt="" className="size-10" />
        <h1 className="text-2xl font-semibold">kndl</h1>
      </div>
      <p className="text-muted">This Hub is invite-only.</p>
      {methods.data?.dev === true && (
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
      )}
    </main>
  )
}
