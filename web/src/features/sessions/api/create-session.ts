import { useMutation, useQueryClient } from '@tanstack/react-query'

import { sessions } from '@/lib/transport'

import { sessionsKey } from './sessions'

export interface NewSession {
  requestId: string
  repoName: string
  prompt: string
  model: string
  effort: string
}

export function useCreateSession() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (request: NewSession) => sessions.createSession(request),
    onSuccess: () => client.invalidateQueries({ queryKey: sessionsKey }),
  })
}
