import { useMutation, useQuery } from '@tanstack/react-query'

import { newRequestId } from '@/lib/request-id'
import { repoAccess } from '@/lib/transport'

// A `kndl login` that waits with this code. Asked once: after a decision there is none any more.
export function useDevice(userCode: string) {
  return useQuery({
    queryKey: ['device', userCode],
    queryFn: () => repoAccess.findDevice({ userCode }),
    enabled: userCode !== '',
    retry: false,
    staleTime: Infinity,
  })
}

export function useDecideDevice() {
  return useMutation({
    mutationFn: (decision: { userCode: string; isApproved: boolean }) =>
      repoAccess.decideDevice({ ...decision, requestId: newRequestId() }),
  })
}
