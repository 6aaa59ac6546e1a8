import { useMutation, useQuery } from '@tanstack/react-query'

import { newRequestId } from '@/lib/request-id'
import { repoAccess } from '@/lib/transport'

// A `kndl login` that waits with this code.
export function useDevice(userCode: string) {
  return useQuery({
    queryKey: ['device', userCode],
    queryFn: () => repoAccess.findDevice({ userCode }),
    enabled: userCode !== '',
    retry: false,
  })
}

export function useDecideDevice() {
  return useMutation({
    mutationFn: (decision: { userCode: string; isApproved: boolean }) =>
      repoAccess.decideDevice({ ...decision, requestId: newRequestId() }),
  })
}
