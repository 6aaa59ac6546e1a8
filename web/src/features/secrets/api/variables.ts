import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'

import { reposQuery } from '@/lib/repos'
import { newRequestId } from '@/lib/request-id'
import { redactor, secrets } from '@/lib/transport'

export interface Edit {
  name: string
  value: string
  sensitive: boolean
  atBuild: boolean
}

const key = ['variables']

export function useRepos() {
  return useQuery({ ...reposQuery, select: ({ repos }) => repos })
}

// The Repo's own first, then Shared ones linked to it. Never a Sensitive value. Counts rise while
// Sessions run.
export function useVariables(repoId: bigint) {
  return useQuery({
    queryKey: [...key, 'repo', String(repoId)],
    queryFn: () => secrets.listVariables({ repoId }),
    refetchInterval: 30_000,
  })
}

export function useTestRedaction(repoId: bigint) {
  return useMutation({ mutationFn: () => redactor.testRedaction({ repoId }), gcTime: 0 })
}

export function useSharedVariables() {
  return useQuery({
    queryKey: [...key, 'shared'],
    queryFn: async () => (await secrets.listSharedVariables({})).variables,
  })
}

// Each change may show in both lists: one's key begins the other's. A mutation's variables are
// dropped at once, so that no value stays in the cache.
function useChange<Input, Output>(change: (input: Input) => Promise<Output>) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: change,
    gcTime: 0,
    onSuccess: () => client.invalidateQueries({ queryKey: key }),
  })
}

export function useSetVariables(repoId: bigint) {
  return useChange((variables: Edit[]) => secrets.setVariables({ repoId, variables, requestId: newRequestId() }))
}

export function useRemoveVariable(repoId: bigint) {
  return useChange((name: string) => secrets.removeVariable({ repoId, name, requestId: newRequestId() }))
}

export function useSetShared() {
  return useChange(({ sharedId, ...variable }: Edit & { sharedId: string }) =>
    secrets.setSharedVariable({ sharedId, variable, requestId: newRequestId() }),
  )
}

export function useRemoveShared() {
  return useChange((sharedId: string) => secrets.removeSharedVariable({ sharedId, requestId: newRequestId() }))
}

export function useLinkShared() {
  return useChange((link: { sharedId: string; repoId: bigint; linked: boolean }) =>
    secrets.linkSharedVariable({ ...link, requestId: newRequestId() }),
  )
}
