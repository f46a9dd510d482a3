import { tokenBuckets } from '@herald/async'
import type { WebSocket } from 'ws'
import { drainConnections } from './drain-connections.ts'
import { beatFrame, welcomeFrame } from './frames.ts'
import { startHealthTicks } from './health.ts'
import type { Presence } from './presence.ts'
import { type CloseReason, type Event, step } from './protocol.ts'
import { createSession, isFull, type Session } from './session.ts'

export type Connections = {
  /** Connected devices, each with its newest connection. */
  sessions: ReadonlyMap<number, Session>
  /** Number of open sockets, including those without a hello. */
  count(): number
  countOf(address: string): number
  /** Number of connections of an address whose device is not known yet. */
  unidentifiedOf(address: string): number
  accept(socket: WebSocket, address: string): void
  /** Writes a frame to the connection of a device; false when there is none that can take it. */
  write(deviceId: number, taskId: number, frame: Buffer): boolean
  wasWritten(deviceId: number, taskId: number): boolean
  /** Ends the connection of a device if it is still this one. */
  end(deviceId: number, connection: number, why: CloseReason): void
  /** Ends all connections evenly over `ms`, and resolves when every socket is closed. */
  drain(ms: number): Promise<void>
  stop(): void
}

export type ConnectionsDeps = {
  presence: Presence
  onWelcome(session: Session): void
  /** `written` were written to this connection; `others` may have been written to an earlier one, or are invented. */
  onAcknowledged(session: Session, written: number[], others: number[]): void
  /** The app has come back to the foreground. */
  onHere(session: Session): void
  /** A device whose buffer was full has read it. */
  onWritable(deviceId: number): void
  /** A connection ended without an acknowledgement of these tasks. */
  onUnacknowledged(deviceId: number, taskIds: ReadonlySet<number>): void
  /** The gateway ended a connection with this code. */
  onClosed(code: number): void
}

/** Frames include pings and pongs. */
const MAX_FRAMES_PER_TICK = 200
/** A client that still sends after its close frame is cut off: `ws` parses frames until the socket ends. */
const MAX_FRAMES_BEFORE_CUT = 1000
/** Pings are answered while at most this many bytes wait to be sent; a client that reads gets its data instead. */
const MAX_BUFFERED_FOR_PONG = 16 * 1024
/** Ten acknowledged tasks count as one frame for rate limiting: each is a row in Postgres. */
const TASKS_PER_FRAME = 10
/** Each change of away and here costs a write and a read in Postgres: more than ten per second end the connection. */
const FRAMES_PER_CHANGE = 20
/** Limit per device, for two programs that use the same token or a client that reconnects in a loop. */
const HELLOS = { burst: 20, perSecond: 0.5 }

const sessionKey = Symbol('session')
type SessionSocket = WebSocket & { [sessionKey]: Session }

/** Owns the sockets and executes the protocol. All sockets share the handlers; closures per socket would cost memory. */
export function createConnections(deps: ConnectionsDeps): Connections {
  const sessions = new Map<number, Session>()
  const all = new Set<Session>()
  const addresses = new Map<string, { open: number; unidentified: number }>()
  const applications = new Map<string, string>()
  const hellos = tokenBuckets(HELLOS)

  function handle(session: Session, event: Event): void {
    const { state, action } = step(session.state, event)
    session.state = state
    switch (action.do) {
      case 'look up':
        session.beats = action.beats
        session.away = action.away
        // Checked before the lookup, which would take the presence from the device's current connection.
        if (hellos.take(action.pushToken) === 0) void identify(session, action.pushToken)
        else handle(session, { kind: 'end', why: 'reconnecting' })
        break
      case 'welcome':
        session.socket.send(welcomeFrame)
        // Tells the client at once that it can expect beats.
        if (session.beats) session.socket.send(beatFrame, { binary: false })
        deps.onWelcome(session)
        break
      case 'acknowledge': {
        session.frames += Math.floor(action.taskIds.length / TASKS_PER_FRAME)
        const [written, others]: [number[], number[]] = [[], []]
        for (const taskId of action.taskIds)
          (session.unacknowledged?.delete(taskId) ? written : others).push(taskId)
        if (session.unacknowledged?.size === 0) session.unacknowledged = undefined
        deps.onAcknowledged(session, written, others)
        break
      }
      case 'change presence':
        if (session.away === action.away) break
        session.away = action.away
        session.frames += FRAMES_PER_CHANGE
        deps.presence.change(session, action.away)
        if (!action.away) deps.onHere(session)
        break
      case 'close':
        release(session)
        deps.onClosed(action.code)
        session.heardAt = performance.now()
        session.socket.close(action.code, action.reason)
        break
    }
  }

  async function identify(session: Session, pushToken: string): Promise<void> {
    try {
      const device = await deps.presence.connect(pushToken, () => session.state === 'over', session.away)
      if (!device) return handle(session, { kind: 'end', why: 'unknownToken' })
      const { deviceId, connection } = device
      if (session.state !== 'identifying') return deps.presence.disconnect(device)
      session.deviceId = deviceId
      addresses.get(session.address)!.unidentified--
      session.connection = connection
      session.generation = device.generation
      session.appId = sharedText(device.appId)
      const former = sessions.get(deviceId)
      if (!device.newest || (former && former.connection > connection))
        return handle(session, { kind: 'end', why: 'replaced' })
      if (former) handle(former, { kind: 'end', why: 'replaced' })
      sessions.set(deviceId, session)
      handle(session, { kind: 'identified' })
    } catch {
      handle(session, { kind: 'end', why: 'unavailable' })
    }
  }

  /** Thousands of connections share few applications; this saves a copy of the id per connection. */
  function sharedText(text: string): string {
    const known = applications.get(text)
    if (known !== undefined) return known
    applications.set(text, text)
    return text
  }

  /** Removes the session from `sessions` and from presence. */
  function release(session: Session): void {
    const { deviceId, connection, unacknowledged } = session
    session.unacknowledged = undefined
    if (unacknowledged) deps.onUnacknowledged(deviceId, unacknowledged)
    if (connection === 0) return
    session.connection = 0
    if (sessions.get(deviceId) === session) sessions.delete(deviceId)
    deps.presence.disconnect({ deviceId, connection })
  }

  /** Counts a frame; false when the connection is over and the frame must be ignored. */
  function countFrame(session: Session): boolean {
    session.frames++
    if (session.frames > MAX_FRAMES_BEFORE_CUT) session.socket.terminate()
    else if (session.frames > MAX_FRAMES_PER_TICK) handle(session, { kind: 'end', why: 'flooding' })
    return session.state !== 'over'
  }

  function onMessage(this: WebSocket, data: unknown, isBinary: boolean): void {
    const session = (this as SessionSocket)[sessionKey]
    if (!countFrame(session)) return
    session.heardAt = performance.now()
    handle(session, isBinary ? { kind: 'binary' } : { kind: 'text', text: String(data) })
  }

  function onPing(this: WebSocket, data: Buffer): void {
    onPong.call(this)
    const { state } = (this as SessionSocket)[sessionKey]
    if (state !== 'over' && this.bufferedAmount <= MAX_BUFFERED_FOR_PONG) this.pong(data)
  }

  function onPong(this: WebSocket): void {
    const session = (this as SessionSocket)[sessionKey]
    // Neither a ping nor a pong extends the time for the hello.
    if (countFrame(session) && session.state !== 'unidentified') session.heardAt = performance.now()
  }

  function onClose(this: WebSocket): void {
    const session = (this as SessionSocket)[sessionKey]
    session.state = 'over'
    release(session)
    all.delete(session)
    const counts = addresses.get(session.address)!
    counts.open--
    if (session.deviceId === 0) counts.unidentified--
    if (counts.open === 0) addresses.delete(session.address)
  }

  /** After an invalid frame or a reset the close event follows. */
  function onError(this: WebSocket, error: Error & { code?: string }): void {
    if (error.code === 'WS_ERR_TOO_MANY_BUFFERED_PARTS')
      handle((this as SessionSocket)[sessionKey], { kind: 'end', why: 'flooding' })
  }

  function openSession(deviceId: number): Session | undefined {
    const session = sessions.get(deviceId)
    return session?.state === 'open' && session.socket.readyState === session.socket.OPEN
      ? session
      : undefined
  }

  return {
    sessions,
    count: () => all.size,
    countOf: (address) => addresses.get(address)?.open ?? 0,
    unidentifiedOf: (address) => addresses.get(address)?.unidentified ?? 0,
    accept(socket, address) {
      const session = createSession(socket, address)
      ;(socket as SessionSocket)[sessionKey] = session
      all.add(session)
      const counts = addresses.get(address) ?? { open: 0, unidentified: 0 }
      addresses.set(address, counts)
      counts.open++
      counts.unidentified++
      socket.on('message', onMessage)
      socket.on('ping', onPing)
      socket.on('pong', onPong)
      socket.on('close', onClose)
      socket.on('error', onError)
    },
    write(deviceId, taskId, frame) {
      const session = openSession(deviceId)
      if (!session) return false
      if (session.unacknowledged?.has(taskId)) return true
      if (session.away) return false
      if (isFull(session)) return false
      session.unacknowledged ??= new Set()
      session.unacknowledged.add(taskId)
      const onRead = isFull(session, frame.length) ? () => deps.onWritable(deviceId) : undefined
      session.socket.send(frame, { binary: false }, onRead)
      return true
    },
    wasWritten: (deviceId, taskId) => openSession(deviceId)?.unacknowledged?.has(taskId) ?? false,
    end(deviceId, connection, why) {
      const session = sessions.get(deviceId)
      if (session?.connection === connection) handle(session, { kind: 'end', why })
    },
    drain: (ms) => drainConnections(all, ms, (session) => handle(session, { kind: 'end', why: 'draining' })),
    stop: startHealthTicks(all, handle),
  }
}
