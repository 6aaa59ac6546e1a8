import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'

import { newRequestId } from '@/lib/request-id'
import { runnersQuery } from '@/lib/runners'
import { runners } from '@/lib/transport'

export const useRunners = () => useQuery(runnersQuery)

function useChange<Input, Output>(change: (input: Input) => Promise<Output>) {
  const client = useQueryClient()
  return useMutation({ mutationFn: change, onSuccess: () => client.invalidateQueries({ queryKey: runnersQuery.queryKey }) })
}

export const useRegisterRunner = () =>
  useChange((name: string) => runners.registerRunner({ name, requestId: newRequestId() }))

export const useRenameRunner = () =>
  useChange(({ runnerId, name }: { runnerId: string; name: string }) =>
    runners.renameRunner({ runnerId, name, requestId: newRequestId() }))

export const useRotateRunnerToken = () =>
  useChange((runnerId: string) => runners.rotateRunnerToken({ runnerId, requestId: newRequestId() }))

export const useRemoveRunner = () =>
  useChange((runnerId: string) => runners.removeRunner({ runnerId, requestId: newRequestId() }))
