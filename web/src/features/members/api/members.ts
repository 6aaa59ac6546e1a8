import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'

import { newRequestId } from '@/lib/request-id'
import { repoAccess } from '@/lib/transport'

const key = ['members']
const invitesKey = ['members', 'invites']

export function useMembers() {
  return useQuery({ queryKey: key, queryFn: async () => (await repoAccess.listMembers({})).members })
}

// The Owner's alone.
export function useInvites() {
  return useQuery({ queryKey: invitesKey, queryFn: async () => (await repoAccess.listInvites({})).invites })
}

// After each change both lists are asked for again: one's key begins the other's.
function useChange<Input, Output>(change: (input: Input) => Promise<Output>) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSuccess: () => client.invalidateQueries({ queryKey: key }),
  })
}

// Its link is shown this once.
export function useInviteMember() {
  return useChange((login: string) => repoAccess.inviteMember({ login, requestId: newRequestId() }))
}

export function useRevokeInvite() {
  return useChange((inviteId: string) => repoAccess.revokeInvite({ inviteId, requestId: newRequestId() }))
}

export function useRemoveMember() {
  return useChange((personId: string) => repoAccess.removeMember({ personId, requestId: newRequestId() }))
}

export function useHandOverOwnership() {
  return useMutation({
    mutationFn: (personId: string) => repoAccess.handOverOwnership({ personId, requestId: newRequestId() }),
    onSuccess: () => window.location.reload(),
  })
}
