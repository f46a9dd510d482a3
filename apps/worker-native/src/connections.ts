import type { WebSocket } from 'ws'
import { welcomeFrame } from './frames.ts'
import type { Greeter } from './greeter.ts'
import { type Closing, type Event, step } from './protocol.ts'
import { createRateLimiter } from './rate-limiter.ts'
import { createSession, examine, isFull, type Session } from './session.ts'

export type Connections = {
  /** Connected devices; one connection each, the newest. */
  sessions: ReadonlyMap<number, Session>
  /** Every open socket, devices that have not said hello included. */
  count(): number
  countOf(address: string): number
  accept(socket: WebSocket, address: string): void
  /** Hands a frame to the connection of a device; false when there is none that can take it. */
  write(deviceId: number, taskId: number, frame: Buffer): boolean
  wasWritten(deviceId: number, taskId: number): boolean
  /** Ends the connection of a device if it is still this one. */
  end(deviceId: number, connection: number, why: Closing): void
  /** Ends all, evenly over `ms`, and resolves when every socket is closed. */
  moveAll(ms: number): Promise<void>
  stop(): void
}

export type ConnectionsDeps = {
  greeter: Greeter
  onWelcome(session: Session): void
  onAcknowledged(session: Session, taskIds: number[]): void
  /** A device that could take no more has read what waited for it. */
  onRoom(deviceId: number): void
  /** A connection ended before these tasks were acknowledged over it. */
  onLost(deviceId: number, taskIds: ReadonlySet<number>): void
  /** We ended a connection with this code. */
  onClosed(code: number): void
}

const TICK_MS = 1_000
const FRAMES_PER_TICK = 200
/** So many acknowledged tasks weigh as much as a frame: each is a row, and all devices share the way to Postgres. */
const TASKS_PER_FRAME = 10
/** A device that two programs fight over, or that reconnects in a loop, must not cost more than this. */
const HELLOS = { burst: 20, perSecond: 0.5 }
/** Sockets that do not close when told are cut off after this. */
const CLOSING_MS = 2_000

const held = Symbol('session')
type HeldSocket = WebSocket & { [held]: Session }

/** Holds the sockets and does what the protocol says. Handlers are shared by all sockets; each would cost memory apart. */
export function createConnections(deps: ConnectionsDeps): Connections {
  const sessions = new Map<number, Session>()
  const all = new Set<Session>()
  const addresses = new Map<string, number>()
  const applications = new Map<string, string>()
  const hellos = createRateLimiter(HELLOS)

  function handle(session: Session, event: Event): void {
    const { state, action } = step(session.state, event)
    session.state = state
    switch (action.do) {
      case 'look up':
        // Before Postgres is asked: the greeting would take the presence from the connection that the device has.
        if (hellos.allows(action.pushToken)) void greet(session, action.pushToken)
        else handle(session, { kind: 'end', why: 'restless' })
        break
      case 'welcome':
        session.socket.send(welcomeFrame)
        deps.onWelcome(session)
        break
      case 'acknowledge':
        session.frames += Math.floor(action.taskIds.length / TASKS_PER_FRAME)
        for (const taskId of action.taskIds) session.unacknowledged?.delete(taskId)
        if (session.unacknowledged?.size === 0) session.unacknowledged = undefined
        deps.onAcknowledged(session, action.taskIds)
        break
      case 'close':
        release(session)
        deps.onClosed(action.code)
        session.socket.close(action.code, action.reason)
        break
    }
  }

  async function greet(session: Session, pushToken: string): Promise<void> {
    try {
      const greeted = await deps.greeter.greet(pushToken)
      if (!greeted) return handle(session, { kind: 'end', why: 'unknownToken' })
      const { deviceId, connection } = greeted
      if (session.state !== 'greeting') return deps.greeter.leave(greeted)
      session.deviceId = deviceId
      session.connection = connection
      session.appId = sameText(greeted.appId)
      const former = sessions.get(deviceId)
      if (!greeted.newest || (former && former.connection > connection))
        return handle(session, { kind: 'end', why: 'replaced' })
      if (former) handle(former, { kind: 'end', why: 'replaced' })
      sessions.set(deviceId, session)
      handle(session, { kind: 'recognised' })
    } catch {
      handle(session, { kind: 'end', why: 'unavailable' })
    }
  }

  /** Thousands of connections share few applications; each row of Postgres brings its own copy of the id. */
  function sameText(text: string): string {
    const known = applications.get(text)
    if (known !== undefined) return known
    applications.set(text, text)
    return text
  }

  /** The device is no longer connected by this session. */
  function release(session: Session): void {
    const { deviceId, connection, unacknowledged } = session
    session.unacknowledged = undefined
    if (unacknowledged) deps.onLost(deviceId, unacknowledged)
    if (connection === 0) return
    session.connection = 0
    if (sessions.get(deviceId) === session) sessions.delete(deviceId)
    deps.greeter.leave({ deviceId, connection })
  }

  function onMessage(this: WebSocket, data: unknown, isBinary: boolean): void {
    const session = (this as HeldSocket)[held]
    session.heardAt = performance.now()
    session.frames++
    if (session.frames > FRAMES_PER_TICK) handle(session, { kind: 'end', why: 'flooding' })
    else handle(session, isBinary ? { kind: 'binary' } : { kind: 'text', text: String(data) })
  }

  function onPong(this: WebSocket): void {
    const session = (this as HeldSocket)[held]
    // Before its hello a device has the time for it and no more, whatever else it sends.
    if (session.state !== 'strange') session.heardAt = performance.now()
  }

  function onClose(this: WebSocket): void {
    const session = (this as HeldSocket)[held]
    session.state = 'over'
    release(session)
    all.delete(session)
    const left = addresses.get(session.address)! - 1
    if (left > 0) addresses.set(session.address, left)
    else addresses.delete(session.address)
  }

  // A broken frame or a reset; the close event follows.
  const onError = () => {}

  function cutOff(session: Session, why: Closing): void {
    handle(session, { kind: 'end', why })
    session.socket.terminate()
  }

  const timer = setInterval(() => {
    const now = performance.now()
    for (const session of all) {
      session.frames = 0
      const condition = examine(session, now)
      if (condition === 'late') handle(session, { kind: 'time is up' })
      else if (condition === 'quiet') {
        session.pingedAt = now
        session.socket.ping()
      } else if (condition !== 'well') cutOff(session, condition)
    }
  }, TICK_MS)

  function openSession(deviceId: number): Session | undefined {
    const session = sessions.get(deviceId)
    return session?.state === 'open' && session.socket.readyState === session.socket.OPEN
      ? session
      : undefined
  }

  return {
    sessions,
    count: () => all.size,
    countOf: (address) => addresses.get(address) ?? 0,
    accept(socket, address) {
      const session = createSession(socket, address)
      ;(socket as HeldSocket)[held] = session
      all.add(session)
      addresses.set(address, (addresses.get(address) ?? 0) + 1)
      socket.on('message', onMessage)
      socket.on('pong', onPong)
      socket.on('close', onClose)
      socket.on('error', onError)
    },
    write(deviceId, taskId, frame) {
      const session = openSession(deviceId)
      if (!session) return false
      if (session.unacknowledged?.has(taskId)) return true
      if (isFull(session)) return false
      session.unacknowledged ??= new Set()
      session.unacknowledged.add(taskId)
      const onRead = isFull(session, frame.length) ? () => deps.onRoom(deviceId) : undefined
      session.socket.send(frame, { binary: false }, onRead)
      return true
    },
    wasWritten: (deviceId, taskId) => openSession(deviceId)?.unacknowledged?.has(taskId) ?? false,
    end(deviceId, connection, why) {
      const session = sessions.get(deviceId)
      if (session?.connection === connection) handle(session, { kind: 'end', why })
    },
    async moveAll(ms) {
      const leaving = [...all]
      const started = performance.now()
      for (const [i, session] of leaving.entries()) {
        const wait = started + (ms * i) / leaving.length - performance.now()
        if (wait > 5) await new Promise((resolve) => setTimeout(resolve, wait))
        handle(session, { kind: 'end', why: 'moving' })
      }
      const until = performance.now() + CLOSING_MS
      while (all.size > 0 && performance.now() < until)
        await new Promise((resolve) => setTimeout(resolve, 20))
      for (const session of all) session.socket.terminate()
      while (all.size > 0) await new Promise((resolve) => setTimeout(resolve, 5))
    },
    stop: () => clearInterval(timer),
  }
}
