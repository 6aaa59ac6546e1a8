import { useMemo, useSyncExternalStore } from 'react'
import { useMutation } from '@tanstack/react-query'

import { SessionLog } from '@/lib/session-log'
import { hubSocket } from '@/lib/socket'
import { sessions } from '@/lib/transport'

const pageSize = 100

export function useSessionLog(sessionId: string) {
  const log = useMemo(() => new SessionLog(hubSocket, sessionId), [sessionId])
  const snapshot = useSyncExternalStore(log.subscribe, log.get)
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
