// The transcript: a long list that stays fast, follows only while its end is in view, and never
// moves what somebody reads.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { ArrowDown } from 'lucide-react'
import { VList, type VListHandle } from 'virtua'

import type { SessionSnapshot } from '@/lib/session-log'
import { Button } from '@/ui/button'
import { Loading } from '@/ui/feedback'

import { TranscriptItem } from './transcript-item'
import { toItems } from './transcript-model'

const nearEndPx = 80

interface Props {
  snapshot: SessionSnapshot
  loadOlder(): void
  loadingOlder: boolean
}

export function Transcript({ snapshot, loadOlder, loadingOlder }: Props) {
  const { events, blocks, hasOlder } = snapshot
  const items = useMemo(() => toItems(events, blocks), [events, blocks])
  const list = useRef<VListHandle>(null)
  const [follows, setFollows] = useState(true)
  const [seen, setSeen] = useState(0)
  const firstSeq = events[0]?.seq
  const [lastFirst, setLastFirst] = useState(firstSeq)
  // Older items push in at the top: the list is told to keep its place for that one render.
  const shifted = firstSeq !== undefined && lastFirst !== undefined && firstSeq < lastFirst
  useEffect(() => setLastFirst(firstSeq), [firstSeq])

  useLayoutEffect(() => {
    if (follows && items.length > 0) list.current?.scrollToIndex(items.length - 1, { align: 'end' })
  }, [items, follows])

  const isAtEnd = (offset: number) => {
    const handle = list.current
    return handle === null || handle.scrollSize - offset - handle.viewportSize < nearEndPx
  }

  const toEnd = () => {
    setFollows(true)
    list.current?.scrollToIndex(items.length - 1, { align: 'end' })
  }

  return (
    <div className="relative min-h-0 flex-1" role="log" aria-label="Transcript" aria-live="off">
      <VList
        ref={list}
        shift={shifted}
        className="h-full"
        onScroll={(offset) => {
          const atEnd = isAtEnd(offset)
          setFollows(atEnd)
          if (atEnd) setSeen(items.length)
          if (offset < 400 && hasOlder && !loadingOlder) loadOlder()
        }}
      >
        {items.map((item) => (
          <div key={item.key} className="mx-auto w-full max-w-3xl px-3 py-1.5 md:px-6">
            <TranscriptItem item={item} />
          </div>
        ))}
      </VList>
      {loadingOlder && (
        <div className="absolute inset-x-0 top-0 flex justify-center bg-page/80">
          <Loading what="older Events" />
        </div>
      )}
      {!follows && (
        <div className="absolute inset-x-0 bottom-2 flex justify-center">
          <Button onClick={toEnd} className="rounded-full shadow-md">
            <ArrowDown className="size-4" aria-hidden /> Jump to latest
            {items.length > seen && seen > 0 && ` (${items.length - seen})`}
          </Button>
        </div>
      )}
    </div>
  )
}
