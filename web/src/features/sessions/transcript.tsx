// The transcript: a long list that stays fast, follows only while its end is in view, and never
// moves what somebody reads.
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { ArrowDown } from 'lucide-react'
import { VList, type VListHandle } from 'virtua'

import type { SessionSnapshot } from '@/lib/session-log'
import { Button } from '@/ui/button'
import { Loading } from '@/ui/feedback'

import { TranscriptItem } from './transcript-item'
import { toItems } from './transcript-model'

const nearEndPx = 80
const nearStartPx = 400
const handMs = 1000 // a scroll this soon after a wheel, a touch or a key is a person's

interface Props {
  snapshot: SessionSnapshot
  loadOlder(): void
  loadingOlder: boolean
}

export function Transcript({ snapshot, loadOlder, loadingOlder }: Props) {
  const { events, live, hasOlder } = snapshot
  const items = useMemo(() => toItems(events, live.blocks), [events, live.blocks])
  const list = useRef<VListHandle>(null)
  const frame = useRef<HTMLDivElement>(null)
  const byHand = useRef(-Infinity)
  const [follows, setFollows] = useState(true)
  const [seen, setSeen] = useState(0)
  const firstSeq = events[0]?.seq
  const [lastFirst, setLastFirst] = useState(firstSeq)
  // Older items push in at the top: the list is told to keep its place for that one render.
  const shifted = firstSeq !== undefined && lastFirst !== undefined && firstSeq < lastFirst
  useEffect(() => setLastFirst(firstSeq), [firstSeq])

  const toEnd = useCallback(() => {
    list.current?.scrollTo(Number.MAX_SAFE_INTEGER)
  }, [])

  useLayoutEffect(() => {
    if (follows) toEnd()
  }, [items, follows, toEnd])

  // The room gets smaller and larger with the queue, a question, a keyboard: what was at the end
  // stays at the end.
  useEffect(() => {
    const room = frame.current
    if (room === null || !follows) return
    const observer = new ResizeObserver(toEnd)
    observer.observe(room)
    return () => observer.disconnect()
  }, [follows, toEnd])

  // Only a person who scrolls up ends the following: what grows, shrinks or is measured anew moves
  // the offset as well.
  const onHand = () => {
    byHand.current = performance.now()
  }
  const onScroll = (offset: number) => {
    const handle = list.current
    if (handle === null) return
    const isAtEnd = handle.scrollSize - offset - handle.viewportSize < nearEndPx
    if (isAtEnd) {
      setFollows(true)
      setSeen(items.length)
    } else if (performance.now() - byHand.current < handMs) setFollows(false)
    else if (follows) toEnd()
    if (offset < nearStartPx && hasOlder && !loadingOlder) loadOlder()
  }

  return (
    <div
      ref={frame}
      className="relative min-h-0 flex-1"
      onWheel={onHand}
      onTouchMove={onHand}
      onKeyDown={onHand}
      onPointerDown={onHand}
      onPointerMove={(event) => event.buttons !== 0 && onHand()}
    >
      <VList
        ref={list}
        shift={shifted}
        className="h-full"
        role="log"
        aria-label="Transcript"
        aria-live="off"
        tabIndex={0}
        onScroll={onScroll}
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
          <Button onClick={() => setFollows(true)} className="rounded-full shadow-md">
            <ArrowDown className="size-4" aria-hidden /> Jump to latest
            {items.length > seen && seen > 0 && ` (${items.length - seen})`}
          </Button>
        </div>
      )}
    </div>
  )
}
