import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'

import { newRequestId } from '@/lib/request-id'
import { secrets } from '@/lib/transport'

const key = ['setup-token']

// null: there is none. Never its value.
export function useSetupToken() {
  return useQuery({
    queryKey: key,
    queryFn: async () => (await secrets.getSetupToken({})).setupToken ?? null,
  })
}

export function useSetSetupToken() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (token: string) => secrets.setSetupToken({ token, requestId: newRequestId() }),
    onSuccess: () => client.invalidateQueries({ queryKey: key }),
  })
}

export function useRemoveSetupToken() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: () => secrets.removeSetupToken({ requestId: newRequestId() }),
    onSuccess: () => client.invalidateQueries({ queryKey: key }),
  })
}
