import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'

import { newRequestId } from '@/lib/request-id'
import { repoAccess } from '@/lib/transport'

const key = ['sign-ins']

// One's own: browsers and CLI machines.
export function useSignIns() {
  return useQuery({ queryKey: key, queryFn: async () => (await repoAccess.listSignIns({})).signIns })
}

export function useEndSignIn() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (signInId: string) => repoAccess.endSignIn({ signInId, requestId: newRequestId() }),
    onSuccess: () => client.invalidateQueries({ queryKey: key }),
  })
}

export function useEndAllSignIns() {
  return useMutation({
    mutationFn: () => repoAccess.endAllSignIns({ requestId: newRequestId() }),
    onSuccess: () => window.location.assign('/'),
  })
}
