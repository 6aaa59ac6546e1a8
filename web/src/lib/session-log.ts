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

export interface SessionSnapshot {
  view: OpenViewResponse | undefined
  events: readonly Event[] // rising, without a gap
  hasOlder: boolean
  blocks: readonly LiveBlock[] // in the order they began
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

// The live blocks after a delta. A piece that does not continue what is there starts a block whose
// beginning is missing.
export function applyDelta(blocks: readonly LiveBlock[], delta: Delta): readonly LiveBlock[] {
  const at = blocks.findIndex((block) => block.id === delta.blockId)
  const size = BigInt(encoder.encode(delta.text).length)
  const known = blocks[at]
  if (known === undefined)
    return [
      ...blocks,
      {
        id: delta.blockId,
        subagentId: delta.subagentId,
        kind: delta.kind,
        text: delta.text,
        end: delta.offset + size,
        missing: delta.offset > 0n,
        toolUseId: delta.toolUseId,
        toolName: delta.toolName,
      },
    ]
  if (delta.offset + size <= known.end) return blocks
  const follows = delta.offset === known.end
  const next = {
    ...known,
    text: follows ? known.text + delta.text : delta.text,
    missing: known.missing || !follows,
    end: delta.offset + size,
  }
  return blocks.with(at, next)
}

// The live blocks once Events came: a finished block is replaced by its Event, and the end of the
// main Turn drops what no Event replaced.
export function settle(blocks: readonly LiveBlock[], events: readonly Event[]): readonly LiveBlock[] {
  let left = blocks
  for (const event of events) {
    const block = blockOf(event)
    if (block !== '') left = left.filter((each) => each.id !== block && each.toolUseId !== block)
    if (event.kind.case === 'turnEnded' || event.kind.case === 'subagentEnded')
      left = left.filter((each) => each.subagentId !== event.subagentId)
  }
  return left.length === blocks.length ? blocks : left
}

export class SessionLog {
  private snapshot: SessionSnapshot = {
    view: undefined,
    events: [],
    hasOlder: false,
    blocks: [],
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
        const blocks = isFirst ? [] : this.snapshot.blocks
        this.set({
          view,
          closed: undefined,
          blocks,
          hasOlder: isFirst && wasEmpty ? view.hasMore : this.snapshot.hasOlder,
        })
        this.take(view.events)
      },
      onEvents: ({ events }) => this.take(events),
      onDeltas: ({ deltas }) => {
        this.set({ blocks: deltas.reduce(applyDelta, this.snapshot.blocks) })
      },
      onClosed: (closed) => this.set({ closed, blocks: [] }),
    })
  }

  private take(events: readonly Event[]) {
    if (events.length === 0) return
    this.set({
      events: append(this.snapshot.events, events),
      blocks: settle(this.snapshot.blocks, events),
    })
  }

  private set(change: Partial<SessionSnapshot>) {
    this.snapshot = { ...this.snapshot, ...change }
    for (const listener of this.listeners) listener()
  }
}
