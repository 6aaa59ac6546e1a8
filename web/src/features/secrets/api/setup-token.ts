import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'

import { newRequestId } from '@/lib/request-id'
import { setupTokenQuery } from '@/lib/setup-token'
import { secrets } from '@/lib/transport'

export const useSetupToken = () => useQuery(setupTokenQuery)

export function useSetSetupToken() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (token: string) => secrets.setSetupToken({ token, requestId: newRequestId() }),
    onSuccess: () => client.invalidateQueries({ queryKey: setupTokenQuery.queryKey }),
  })
}

export function useRemoveSetupToken() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: () => secrets.removeSetupToken({ requestId: newRequestId() }),
    onSuccess: () => client.invalidateQueries({ queryKey: setupTokenQuery.queryKey }),
  })
}
