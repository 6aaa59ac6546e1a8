import { useQuery } from '@tanstack/react-query'

import { secrets } from '@/lib/transport'

// Does it run with older Variables than its Repo has now? Looked at now and then: nobody pushes it.
export function useOlderVariables(sessionId: string, isAwake: boolean) {
  const query = useQuery({
    queryKey: ['variables', 'session', sessionId],
    queryFn: async () => (await secrets.getSessionVariables({ sessionId })).changed,
    enabled: isAwake,
    refetchInterval: 30_000,
    retry: false,
  })
  return isAwake && query.data === true
}
