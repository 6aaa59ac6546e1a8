// Signing in and out are the gateway's own routes: they set and clear the cookie.
import { useMutation, useQuery } from '@tanstack/react-query'

async function post(path: string, body: object): Promise<void> {
  const answer = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (answer.ok) return
  const error = (await answer.json().catch(() => ({}))) as { message?: string }
  throw new Error(error.message ?? `the Hub answered ${answer.status}`)
}

export interface SignInMethods {
  dev: boolean
  github: boolean
}

export function useSignInMethods() {
  return useQuery({
    queryKey: ['auth', 'methods'],
    queryFn: async () => (await (await fetch('/auth/methods')).json()) as SignInMethods,
  })
}

export function useDevLogin() {
  return useMutation({
    mutationFn: (login: string) => post('/auth/dev', { login, client: 'web' }),
    onSuccess: () => window.location.assign('/'),
  })
}

export function useSignOut() {
  return useMutation({
    mutationFn: () => post('/auth/signout', {}),
    onSuccess: () => window.location.assign('/'),
  })
}
