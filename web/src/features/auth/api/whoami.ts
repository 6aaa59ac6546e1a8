import { useQuery } from '@tanstack/react-query'

import { Code, hasCode, repoAccess } from '@/lib/transport'

// null: nobody is signed in.
export function useMe() {
  return useQuery({
    queryKey: ['me'],
    queryFn: async () => {
      try {
        return (await repoAccess.whoAmI({})).person ?? null
      } catch (error) {
        if (hasCode(error, Code.Unauthenticated)) return null
        throw error
      }
    },
    staleTime: 60_000,
  })
}
