import { useEffect, useMemo, useSyncExternalStore } from 'react'
import { useMutation, useQueryClient } from '@tanstack/react-query'

import { SessionLog } from '@/lib/session-log'
import { hubSocket } from '@/lib/socket'
import { sessions } from '@/lib/transport'

import { sessionsKey } from './sessions'

const pageSize = 100

export function useSessionLog(sessionId: string) {
  const log = useMemo(() => new SessionLog(hubSocket, sessionId), [sessionId])
  const snapshot = useSyncExternalStore(log.subscribe, log.get)
  const client = useQueryClient()
  const isClosed = snapshot.closed !== undefined
  // Who may not see one Session of a Repo any more may see none of it in the list.
  useEffect(() => {
    if (isClosed) void client.invalidateQueries({ queryKey: sessionsKey })
  }, [isClosed, client])
  const older = useMutation({
    mutationFn: async () => {
      const beforeSeq = log.get().events[0]?.seq ?? 0n
      const page = await sessions.listEvents({
        sessionId,
        page: { case: 'beforeSeq', value: beforeSeq },
        limit: pageSize,
      })
      log.addOlder(page.events, page.hasMore)
    },
  })
  return { snapshot, older }
}
