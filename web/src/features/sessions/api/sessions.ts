// The list of Sessions: asked once, kept fresh by the socket.
import { useEffect } from 'react'
import { useQuery, useQueryClient } from '@tanstack/react-query'

import type { Session } from '@/gen/kndl/sessions/v1/session_pb'
import { hubSocket } from '@/lib/socket'
import { sessions } from '@/lib/transport'

export const sessionsKey = ['sessions']

function withSession(list: Session[] | undefined, changed: Session): Session[] {
  const rest = (list ?? []).filter((session) => session.id !== changed.id)
  const at = rest.findIndex((session) => session.createdAtMs < changed.createdAtMs)
  return at < 0 ? [...rest, changed] : rest.toSpliced(at, 0, changed)
}

export function useSessions() {
  const client = useQueryClient()
  useEffect(
    () =>
      hubSocket.watchSessions((changed) => {
        client.setQueryData<Session[]>(sessionsKey, (list) => withSession(list, changed))
      }),
    [client],
  )
  useEffect(() => hubSocket.connectOnce(), [])
  return useQuery({
    queryKey: sessionsKey,
    queryFn: async () => {
      const { sessions: list } = await sessions.listSessions({ limit: 200 })
      return list.toSorted((a, b) => Number(b.createdAtMs - a.createdAtMs))
    },
    refetchInterval: 30_000,
  })
}
