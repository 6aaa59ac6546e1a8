// The one WebSocket of a tab. It reconnects by itself (1 to 30 s, with jitter; at once when the
// page is shown again or the network is back), opens every channel anew from the last Event that
// it has, and takes the Hub for dead when a ping is not answered in 10 s.
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'

import {
  ClientFrameSchema,
  ServerFrameSchema,
  type Closed,
  type Deltas,
  type Events,
  type ServerFrame,
  type View,
} from '@/gen/kndl/gateway/v1/frame_pb'
import type { Session } from '@/gen/kndl/sessions/v1/session_pb'

export type Connection = 'connecting' | 'open' | 'lost'

export interface Channel {
  sessionId: string
  afterSeq(): bigint
  onView(view: View): void
  onEvents(events: Events): void
  onDeltas(deltas: Deltas): void
  onClosed(closed: Closed): void
}

const pingEveryMs = 15_000
const pongWithinMs = 10_000
const retryMostMs = 30_000

type ClientKind = NonNullable<Parameters<typeof create<typeof ClientFrameSchema>>[1]>['kind']

export class HubSocket {
  private socket: WebSocket | undefined
  private channels = new Map<number, Channel>()
  private nextChannel = 1
  private retryMs = 1000
  private retryTimer: ReturnType<typeof setTimeout> | undefined
  private pingTimer: ReturnType<typeof setInterval> | undefined
  private pongTimer: ReturnType<typeof setTimeout> | undefined
  private stateListeners = new Set<() => void>()
  private sessionListeners = new Set<(session: Session) => void>()
  private versionSeen = ''
  connection: Connection = 'connecting'
  hubWasUpdated = false

  constructor(private readonly url: string) {
    const again = () => {
      if (document.visibilityState === 'visible' && this.connection === 'lost') this.connect()
    }
    document.addEventListener('visibilitychange', again)
    window.addEventListener('online', again)
    window.addEventListener('focus', again)
  }

  subscribeState = (listener: () => void) => {
    this.stateListeners.add(listener)
    return () => this.stateListeners.delete(listener)
  }

  // Changes of any Session that this person may see, for lists.
  watchSessions(listener: (session: Session) => void): () => void {
    this.sessionListeners.add(listener)
    if (this.sessionListeners.size === 1) this.send({ case: 'watch', value: { on: true } })
    return () => {
      this.sessionListeners.delete(listener)
      if (this.sessionListeners.size === 0) this.send({ case: 'watch', value: { on: false } })
    }
  }

  open(channel: Channel): () => void {
    const id = this.nextChannel++
    this.channels.set(id, channel)
    this.connectOnce()
    this.openChannel(id, channel)
    return () => {
      if (this.channels.delete(id)) this.send({ case: 'close', value: { channel: id } })
    }
  }

  connectOnce() {
    if (this.socket === undefined && this.retryTimer === undefined) this.connect()
  }

  private connect() {
    clearTimeout(this.retryTimer)
    this.retryTimer = undefined
    this.setConnection(this.connection === 'lost' ? 'lost' : 'connecting')
    const socket = new WebSocket(this.url, 'kndl')
    socket.binaryType = 'arraybuffer'
    this.socket = socket
    const handshake = setTimeout(() => socket.close(), pongWithinMs)
    socket.onopen = () => {
      clearTimeout(handshake)
      this.retryMs = 1000
      this.setConnection('open')
      for (const [id, channel] of this.channels) this.openChannel(id, channel)
      if (this.sessionListeners.size > 0) this.send({ case: 'watch', value: { on: true } })
      this.pingTimer = setInterval(() => this.ping(), pingEveryMs)
    }
    socket.onmessage = (message) => {
      this.take(fromBinary(ServerFrameSchema, new Uint8Array(message.data as ArrayBuffer)))
    }
    socket.onclose = () => {
      clearTimeout(handshake)
      if (this.socket === socket) this.lost()
    }
  }

  private lost() {
    clearInterval(this.pingTimer)
    clearTimeout(this.pongTimer)
    this.pongTimer = undefined
    this.socket = undefined
    this.setConnection('lost')
    this.retryTimer = setTimeout(() => this.connect(), this.retryMs * (0.5 + Math.random() / 2))
    this.retryMs = Math.min(this.retryMs * 2, retryMostMs)
  }

  private ping() {
    this.send({ case: 'ping', value: { id: 1n } })
    this.pongTimer ??= setTimeout(() => this.socket?.close(), pongWithinMs)
  }

  private openChannel(id: number, channel: Channel) {
    this.send({
      case: 'open',
      value: { channel: id, sessionId: channel.sessionId, afterSeq: channel.afterSeq() },
    })
  }

  private send(kind: ClientKind) {
    if (this.socket?.readyState === WebSocket.OPEN)
      this.socket.send(toBinary(ClientFrameSchema, create(ClientFrameSchema, { kind })))
  }

  private take(frame: ServerFrame) {
    const kind = frame.kind
    switch (kind.case) {
      case 'welcome':
        this.hubWasUpdated = this.versionSeen !== '' && this.versionSeen !== kind.value.version
        this.versionSeen = kind.value.version
        this.setConnection('open')
        break
      case 'view':
        this.channels.get(kind.value.channel)?.onView(kind.value)
        break
      case 'events':
        this.channels.get(kind.value.channel)?.onEvents(kind.value)
        break
      case 'deltas':
        this.channels.get(kind.value.channel)?.onDeltas(kind.value)
        break
      case 'closed': {
        const channel = this.channels.get(kind.value.channel)
        this.channels.delete(kind.value.channel)
        channel?.onClosed(kind.value)
        break
      }
      case 'pong':
        clearTimeout(this.pongTimer)
        this.pongTimer = undefined
        break
      case 'sessionChanged':
        if (kind.value.session !== undefined)
          for (const listener of this.sessionListeners) listener(kind.value.session)
        break
    }
  }

  private setConnection(connection: Connection) {
    this.connection = connection
    for (const listener of this.stateListeners) listener()
  }
}

export const hubSocket = new HubSocket(
  `${window.location.protocol === 'https:' ? 'wss' : 'ws'}://${window.location.host}/socket`,
)
