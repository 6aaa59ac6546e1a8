import { useQuery } from '@tanstack/react-query'

import type { VariableChange } from '@/gen/kndl/secrets/v1/variable_pb'
import { secrets } from '@/lib/transport'

const none: VariableChange[] = []

// What changed of its Repo's Variables since it started. Looked at now and then: nobody pushes it.
export function useVariableChanges(sessionId: string, isAwake: boolean) {
  const query = useQuery({
    queryKey: ['variables', 'session', sessionId],
    queryFn: async () => (await secrets.getSessionVariables({ sessionId })).changes,
    enabled: isAwake,
    refetchInterval: 30_000,
    retry: false,
  })
  return (isAwake && query.data) || none
}
