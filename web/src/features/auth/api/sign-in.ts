// Signing in and out are the gateway's own routes: they set and clear the cookie.
import { useMutation, useQuery } from '@tanstack/react-query'

async function post(path: string, body: object): Promise<unknown> {
  const answer = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const said = (await answer.json().catch(() => ({}))) as { message?: string }
  if (answer.ok) return said
  throw new Error(said.message ?? `the Hub answered ${answer.status}`)
}

export interface SignInMethods {
  dev: boolean
  github: boolean
}

export function useSignInMethods() {
  return useQuery({
    queryKey: ['auth', 'methods'],
    queryFn: async () => {
      const answer = await fetch('/auth/methods')
      if (!answer.ok) throw new Error('The Hub cannot say how to sign in at the moment.')
      return (await answer.json()) as SignInMethods
    },
  })
}

export function useDevLogin() {
  return useMutation({
    mutationFn: (login: string) => post('/auth/dev', { login, client: 'web' }),
    onSuccess: () => window.location.assign('/'),
  })
}

// Hands over what was brought, and goes to GitHub. What was in the address leaves the history.
export function useGitHubSignIn() {
  return useMutation({
    mutationFn: async (brought: { secret?: string; returnTo: string }) =>
      (await post('/auth/github', brought)) as { url: string },
    onSuccess: ({ url }) => {
      window.history.replaceState(null, '', window.location.pathname)
      window.location.assign(url)
    },
  })
}

export function useSignOut() {
  return useMutation({
    mutationFn: () => post('/auth/signout', {}),
    onSuccess: () => {
      sessionStorage.clear() // drafts: the next one in this tab may be somebody else
      window.location.assign('/')
    },
  })
}
