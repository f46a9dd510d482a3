import { type DeviceStorage, openMemory } from './device-memory.ts'
import { badgeAfter, type DeviceMessage, type Received, readFrame, showIn } from './device-message.ts'
import { afterClose } from './device-reconnect.ts'

export type { DeviceMessage, DeviceStorage, Received }

/** The part of the standard WebSocket that is used; the global one of browsers and Node 22, or that of `ws`. */
export type WebSocketLike = {
  readyState: number
  send(data: string): void
  close(code?: number, reason?: string): void
  onopen: ((event: never) => void) | null
  onmessage: ((event: never) => void) | null
  onclose: ((event: never) => void) | null
  onerror: ((event: never) => void) | null
}
export type WebSocketConstructor = new (url: string, protocols: string[]) => WebSocketLike

export type DeviceState =
  | 'connecting'
  | 'online'
  /** Waits to connect again. */
  | 'waiting'
  | 'closed'
  /** Another connection of this device took over. */
  | 'replaced'
  /** The gateway does not know the push token, or speaks another protocol. */
  | 'refused'

export type DeviceOptions = {
  /** `wss://host/native` */
  url: string
  pushToken: string
  /** Called once a message, when its time to be shown has come. */
  onMessage(received: Received): void
  onBadge?(badge: number): void
  onState?(state: DeviceState): void
  /** Keeps what was seen over restarts; without one a restart may show an unacknowledged message twice. */
  storage?: DeviceStorage
  WebSocket?: WebSocketConstructor
}

export type Device = {
  state(): DeviceState
  badge(): number
  /** The app was opened: the badge is what the user sees now. */
  setBadge(badge: number): void
  close(): void
}

const OPEN = 1
const WELCOME_MS = 15_000
const ACK_DELAY_MS = 10
const MOST_ACKS = 500
/** What came lately is acknowledged again on every new connection: a gateway that dies takes acknowledgements with it. */
const REPEAT_MS = 600_000
const MOST_REPEATED = 100
const LONGEST_TIMER_MS = 2_000_000_000

/** Connects a device to the native channel and keeps it connected until `close()`. */
export function connectDevice(options: DeviceOptions): Device {
  const Socket = options.WebSocket ?? (globalThis as { WebSocket?: unknown }).WebSocket
  if (!Socket) throw new Error('This runtime has no WebSocket; pass one as options.WebSocket.')
  const memory = openMemory(options.pushToken, options.storage)
  const timers = new Set<ReturnType<typeof setTimeout>>()
  const unsent = new Set<number>()
  let state: DeviceState = 'connecting'
  let socket: WebSocketLike | undefined
  let failures = 0
  let retry: ReturnType<typeof setTimeout> | undefined

  function become(next: DeviceState): void {
    if (state === next) return
    state = next
    options.onState?.(next)
  }

  function connect(): void {
    stopTimer(retry)
    become('connecting')
    const current = new (Socket as WebSocketConstructor)(options.url, ['herald.v1'])
    socket = current
    const impatience = startTimer(() => end(1006), WELCOME_MS)
    let over = false

    function end(code: number): void {
      if (over) return
      over = true
      stopTimer(impatience)
      if (socket === current) socket = undefined
      current.close()
      if (state === 'closed') return
      const next = afterClose(code, failures, Math.random)
      failures++
      if (next.do === 'stop') become(next.reason)
      else {
        become('waiting')
        retry = startTimer(connect, next.ms)
      }
    }

    current.onopen = () => {
      current.send(JSON.stringify({ op: 'hello', push_token: options.pushToken }))
    }
    current.onmessage = (event: { data?: unknown }) => {
      if (over) return
      const frame = readFrame(String(event.data))
      if (frame.op === 'welcome') {
        stopTimer(impatience)
        failures = 0
        become('online')
        repeatAcknowledgements()
      } else if (frame.op === 'push') receive(frame)
    }
    current.onerror = () => end(1006)
    current.onclose = (event: { code?: number }) => end(event.code ?? 1006)
  }

  function receive(received: Received): void {
    const { taskId, message } = received
    if (!memory.hasSeen(taskId)) {
      memory.see(taskId)
      const wait = showIn(message, Date.now())
      if (wait === 0) show(received)
      else if (wait !== undefined) showLater(received, wait)
    }
    acknowledge(taskId)
  }

  function showLater(received: Received, ms: number): void {
    startTimer(
      () => (ms > LONGEST_TIMER_MS ? showLater(received, ms - LONGEST_TIMER_MS) : show(received)),
      Math.min(ms, LONGEST_TIMER_MS),
    )
  }

  function show(received: Received): void {
    const badge = badgeAfter(memory.badge(), received.message)
    if (badge !== memory.badge()) {
      memory.setBadge(badge)
      options.onBadge?.(badge)
    }
    options.onMessage(received)
  }

  function acknowledge(taskId: number): void {
    if (unsent.size === 0) startTimer(sendAcknowledgements, ACK_DELAY_MS)
    unsent.add(taskId)
  }

  function sendAcknowledgements(): void {
    if (state !== 'online' || socket?.readyState !== OPEN) return
    while (unsent.size > 0) {
      const ids = [...unsent].slice(0, MOST_ACKS)
      socket.send(JSON.stringify({ op: 'ack', task_ids: ids }))
      for (const id of ids) unsent.delete(id)
    }
  }

  function repeatAcknowledgements(): void {
    for (const id of memory.seenWithin(REPEAT_MS).slice(-MOST_REPEATED)) unsent.add(id)
    sendAcknowledgements()
  }

  function startTimer(work: () => void, ms: number): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => {
      timers.delete(timer)
      work()
    }, ms)
    timers.add(timer)
    return timer
  }

  function stopTimer(timer: ReturnType<typeof setTimeout> | undefined): void {
    if (timer === undefined) return
    clearTimeout(timer)
    timers.delete(timer)
  }

  const network = globalThis as {
    addEventListener?(kind: string, listener: () => void): void
    removeEventListener?(kind: string, listener: () => void): void
  }
  const onNetwork = () => {
    if (state === 'waiting') connect()
  }
  network.addEventListener?.('online', onNetwork)

  connect()
  return {
    state: () => state,
    badge: memory.badge,
    setBadge: memory.setBadge,
    close() {
      network.removeEventListener?.('online', onNetwork)
      sendAcknowledgements()
      become('closed')
      for (const timer of timers) clearTimeout(timer)
      timers.clear()
      socket?.close(1000)
    },
  }
}
