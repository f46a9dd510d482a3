import { type DeviceStorage, openMemory } from './device-memory.ts'
import { badgeAfter, type DeviceMessage, endedBy, type Received, readFrame } from './device-message.ts'
import { afterClose } from './device-reconnect.ts'

export type { DeviceMessage, DeviceStorage, Received }

/** The used part of the standard WebSocket: the global one of browsers and Node 22, or the one of `ws`. */
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
  /** Waiting to reconnect. */
  | 'waiting'
  | 'closed'
  /** The device has connected elsewhere. */
  | 'replaced'
  /** The push token is unknown, or the gateway uses another protocol. */
  | 'refused'

export type DeviceOptions = {
  /** `wss://host/native` */
  url: string
  pushToken: string
  /** Called once per message. The message is acknowledged before, so it counts as received even if this throws. */
  onMessage(received: Received): void
  onBadge?(badge: number): void
  onState?(state: DeviceState): void
  /** Persists received task ids and the badge; without it, a restart may show an unacknowledged message twice. */
  storage?: DeviceStorage
  WebSocket?: WebSocketConstructor
}

export type Device = {
  state(): DeviceState
  badge(): number
  /** For example 0 when the user opens the app. */
  setBadge(badge: number): void
  /** The app goes to the background: pushes go to the device’s vendor at once, and wait here until `here()`. */
  away(): void
  /** The app is in the foreground again: what waits is delivered. A device that waits to reconnect does so at once. */
  here(): void
  close(): void
}

const OPEN = 1
const WELCOME_MS = 15_000
/** After this many heartbeats without a frame the gateway is gone: one that lost its power or network closes nothing. */
const MAX_SILENT_HEARTBEATS = 2.5
const ACK_DELAY_MS = 10
const MAX_ACKS = 500
/** Recent messages are acknowledged again on every new connection: a gateway that crashes loses acknowledgements. */
const REPEAT_MS = 600_000
const MAX_REPEATED = 100
/** As many as the memory of received tasks. */
const MAX_ENDED = 500

/** Connects a device to the native channel and keeps it connected until `close()`. */
export function connectDevice(options: DeviceOptions): Device {
  const Socket = options.WebSocket ?? (globalThis as { WebSocket?: unknown }).WebSocket
  if (!Socket) throw new Error('This runtime has no WebSocket; pass one as options.WebSocket.')
  const memory = openMemory(options.pushToken, options.storage)
  const timers = new Set<ReturnType<typeof setTimeout>>()
  const unsent = new Set<number>()
  /** Tasks that were recalled. */
  const ended = new Set<number>()
  let state: DeviceState = 'connecting'
  let socket: WebSocketLike | undefined
  let failures = 0
  let isAway = false
  let retry: ReturnType<typeof setTimeout> | undefined

  /** `closed` is final. */
  function setState(next: DeviceState): void {
    if (state === next || state === 'closed') return
    state = next
    callApp(() => options.onState?.(next))
  }

  /** An error of the app is reported as an uncaught one and must not stop the device. */
  function callApp(callback: () => void): void {
    try {
      callback()
    } catch (error) {
      queueMicrotask(() => {
        throw error
      })
    }
  }

  function connect(): void {
    stopTimer(retry)
    setState('connecting')
    // The app may have called close() in onState.
    if (state === 'closed') return
    const current = new (Socket as WebSocketConstructor)(options.url, ['herald.v1'])
    socket = current
    const welcomeTimer = startTimer(() => end(1006), WELCOME_MS)
    let silenceTimer: ReturnType<typeof setTimeout> | undefined
    let heartbeat = 0
    /** 0 until the first beat: older gateways send none, and are silent while nothing is pushed. */
    let maxSilentMs = 0
    let ended = false
    let saidAway = false

    function end(code: number, reason?: string): void {
      if (ended) return
      ended = true
      stopTimer(welcomeTimer)
      stopTimer(silenceTimer)
      if (socket === current) socket = undefined
      current.close()
      if (state === 'closed') return
      const next = afterClose(code, failures, Math.random, reason)
      failures++
      if (next.do === 'stop') setState(next.reason)
      else {
        // Before onState, in which the app may call close().
        retry = startTimer(connect, next.ms)
        setState('waiting')
      }
    }

    function limitSilence(): void {
      stopTimer(silenceTimer)
      if (maxSilentMs > 0 && state !== 'closed') silenceTimer = startTimer(() => end(1006), maxSilentMs)
    }

    current.onopen = () => {
      saidAway = isAway
      const away = isAway || undefined
      current.send(JSON.stringify({ op: 'hello', push_token: options.pushToken, beats: true, away }))
    }
    current.onmessage = (event: { data?: unknown }) => {
      // With `ws`, frames still arrive after close().
      if (ended || state === 'closed') return
      const frame = readFrame(String(event.data))
      if (frame.op === 'welcome') {
        stopTimer(welcomeTimer)
        heartbeat = frame.heartbeat
        failures = 0
        setState('online')
        repeatAcknowledgements()
        // Also after a hello with `away`: older gateways ignore it there, and the app may have come back since.
        if (isAway || saidAway) sendPresence()
      } else if (frame.op === 'push') receive(frame)
      else if (frame.op === 'beat') maxSilentMs = heartbeat * 1000 * MAX_SILENT_HEARTBEATS
      limitSilence()
    }
    current.onerror = () => end(1006)
    current.onclose = (event: { code?: number; reason?: string }) => end(event.code ?? 1006, event.reason)
  }

  function receive(received: Received): void {
    const { taskId, message } = received
    // Before the app is called, which may call close(): that sends it.
    acknowledge(taskId)
    if (!memory.hasSeen(taskId)) {
      memory.see(taskId)
      const earlier = endedBy(message)
      if (earlier !== undefined) endTask(earlier)
      // The gateway delivers a message only within its show window; the clock of the device may be wrong.
      if (!ended.has(taskId)) show(received)
    }
  }

  /** The recall may overtake the message: then the message is acknowledged and not shown. */
  function endTask(taskId: number): void {
    ended.add(taskId)
    for (const oldest of ended) {
      if (ended.size <= MAX_ENDED) break
      ended.delete(oldest)
    }
  }

  function show(received: Received): void {
    const badge = badgeAfter(memory.badge(), received.message)
    if (badge !== memory.badge()) {
      memory.setBadge(badge)
      callApp(() => options.onBadge?.(badge))
    }
    callApp(() => options.onMessage(received))
  }

  function acknowledge(taskId: number): void {
    if (unsent.size === 0) startTimer(sendAcknowledgements, ACK_DELAY_MS)
    unsent.add(taskId)
  }

  function sendAcknowledgements(): void {
    if (state !== 'online' || socket?.readyState !== OPEN) return
    while (unsent.size > 0) {
      const ids = [...unsent].slice(0, MAX_ACKS)
      socket.send(JSON.stringify({ op: 'ack', task_ids: ids }))
      for (const id of ids) unsent.delete(id)
    }
  }

  function setAway(away: boolean): void {
    if (isAway === away) return
    isAway = away
    if (!away && state === 'waiting') connect()
    else sendPresence()
  }

  function sendPresence(): void {
    if (state === 'online' && socket?.readyState === OPEN)
      socket.send(JSON.stringify({ op: isAway ? 'away' : 'here' }))
  }

  function repeatAcknowledgements(): void {
    for (const id of memory.seenWithin(REPEAT_MS).slice(-MAX_REPEATED)) unsent.add(id)
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
    away: () => setAway(true),
    here: () => setAway(false),
    close() {
      network.removeEventListener?.('online', onNetwork)
      sendAcknowledgements()
      setState('closed')
      for (const timer of timers) clearTimeout(timer)
      timers.clear()
      socket?.close(1000)
    },
  }
}
