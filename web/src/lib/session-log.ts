// What this tab knows of one Session: its Events as an append-only log by number, the blocks that
// stream now, and the rest of the view. A store for useSyncExternalStore: a new snapshot object
// for each change, nothing in it is changed later.
import type { Delta, Event } from '@/gen/kndl/event/v1/event_pb'
import type { Closed } from '@/gen/kndl/gateway/v1/frame_pb'
import type { OpenViewResponse } from '@/gen/kndl/sessions/v1/sessions_service_pb'

import type { HubSocket } from './socket'

// A block as it streams; `missing`: its beginning was never seen (this tab came in later).
export interface LiveBlock {
  id: string
  subagentId: string
  kind: Delta['kind']
  text: string
  end: bigint
  missing: boolean
  toolUseId: string
  toolName: string
}

// What streams now. `finished`: blocks whose Event came, or whose Turn ended without it; a delta of
// theirs that comes late (it takes another way than Events) is nothing to show.
export interface Live {
  blocks: readonly LiveBlock[] // in the order they began
  finished: ReadonlySet<string>
}

export const nothingLive: Live = { blocks: [], finished: new Set() }

export interface SessionSnapshot {
  view: OpenViewResponse | undefined
  events: readonly Event[] // rising, without a gap
  hasOlder: boolean
  live: Live
  closed: Closed | undefined // no access, or no such Session
}

const encoder = new TextEncoder()

function blockOf(event: Event): string {
  const kind = event.kind
  if (kind.case === 'text' || kind.case === 'thinking') return kind.value.blockId
  if (kind.case === 'toolCall') return kind.value.toolUseId
  return ''
}

// The Events to keep once `more` came: what is known already is dropped. A gap cannot be closed
// from here, so it is left to the Hub, which sends each channel a log without one.
export function append(events: readonly Event[], more: readonly Event[]): readonly Event[] {
  const last = events.at(-1)?.seq ?? 0n
  const fresh = more.filter((event) => event.seq > last)
  return fresh.length === 0 ? events : [...events, ...fresh]
}

export function prepend(events: readonly Event[], older: readonly Event[]): readonly Event[] {
  const first = events[0]?.seq
  return [...older.filter((event) => first === undefined || event.seq < first), ...events]
}

// What streams after a delta. A piece that does not continue what is there starts a block whose
// beginning is missing; one at its beginning starts it anew, as what was lost is asked for again.
export function applyDelta(live: Live, delta: Delta): Live {
  if (live.finished.has(delta.blockId) || live.finished.has(delta.toolUseId)) return live
  const size = BigInt(encoder.encode(delta.text).length)
  const at = live.blocks.findIndex((block) => block.id === delta.blockId)
  const known = live.blocks[at]
  if (known === undefined) {
    const block = {
      id: delta.blockId,
      subagentId: delta.subagentId,
      kind: delta.kind,
      text: delta.text,
      end: delta.offset + size,
      missing: delta.offset > 0n,
      toolUseId: delta.toolUseId,
      toolName: delta.toolName,
    }
    return { ...live, blocks: [...live.blocks, block] }
  }
  const begins = delta.offset === 0n
  if (!begins && delta.offset + size <= known.end) return live
  const follows = delta.offset === known.end
  const next = {
    ...known,
    text: follows ? known.text + delta.text : delta.text,
    missing: !begins && (known.missing || !follows),
    end: delta.offset + size,
  }
  return { ...live, blocks: live.blocks.with(at, next) }
}

// What streams once Events came: a finished block is replaced by its Event, and the end of a Turn
// drops what no Event replaced.
export function settle(live: Live, events: readonly Event[]): Live {
  const finished = new Set<string>()
  const ended = new Set<string>()
  for (const event of events) {
    const block = blockOf(event)
    if (block !== '') finished.add(block)
    if (event.kind.case === 'turnEnded' || event.kind.case === 'subagentEnded') ended.add(event.subagentId)
  }
  for (const block of live.blocks) if (ended.has(block.subagentId)) finished.add(block.id)
  if (finished.size === 0) return live
  return {
    blocks: live.blocks.filter((block) => !finished.has(block.id) && !finished.has(block.toolUseId)),
    finished: live.finished.union(finished),
  }
}

export class SessionLog {
  private snapshot: SessionSnapshot = {
    view: undefined,
    events: [],
    hasOlder: false,
    live: nothingLive,
    closed: undefined,
  }
  private listeners = new Set<() => void>()
  private stop: (() => void) | undefined

  constructor(
    private readonly socket: HubSocket,
    readonly sessionId: string,
  ) {}

  get = () => this.snapshot

  // The first listener opens the channel, the last one closes it.
  subscribe = (listener: () => void) => {
    this.listeners.add(listener)
    if (this.stop === undefined) this.stop = this.open()
    return () => {
      this.listeners.delete(listener)
      if (this.listeners.size === 0) {
        this.stop?.()
        this.stop = undefined
      }
    }
  }

  addOlder(older: readonly Event[], hasOlder: boolean) {
    this.set({ events: prepend(this.snapshot.events, older), hasOlder })
  }

  private open() {
    return this.socket.open({
      sessionId: this.sessionId,
      afterSeq: () => this.snapshot.events.at(-1)?.seq ?? 0n,
      onView: ({ view, isFirst }) => {
        if (view === undefined) return
        const wasEmpty = this.snapshot.events.length === 0
        // After a reconnect the blocks that streamed before are unknown: their Events will come.
        const live = isFirst ? { ...this.snapshot.live, blocks: [] } : this.snapshot.live
        this.set({
          view,
          closed: undefined,
          live,
          hasOlder: isFirst && wasEmpty ? view.hasMore : this.snapshot.hasOlder,
        })
        this.take(view.events)
      },
      onEvents: ({ events }) => this.take(events),
      onDeltas: ({ deltas }) => {
        this.set({ live: deltas.reduce(applyDelta, this.snapshot.live) })
      },
      onClosed: (closed) => this.set({ closed, live: nothingLive }),
    })
  }

  private take(events: readonly Event[]) {
    if (events.length === 0) return
    this.set({
      events: append(this.snapshot.events, events),
      live: settle(this.snapshot.live, events),
    })
  }

  private set(change: Partial<SessionSnapshot>) {
    this.snapshot = { ...this.snapshot, ...change }
    for (const listener of this.listeners) listener()
  }
}
