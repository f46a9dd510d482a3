import type { WebSocket } from 'ws'
import { heartbeatSeconds, helloSeconds, type State } from './protocol.ts'

/** One connection. There may be very many, so it holds nothing that can be computed or shared. */
export type Session = {
  socket: WebSocket
  address: string
  state: State
  /** 0 until the device is known. */
  deviceId: number
  appId: string
  connection: number
  /** Tasks written to this connection and not acknowledged yet. */
  unacknowledged: Set<number> | undefined
  /** `performance.now()` of the last sign of life, and of the last ping when nothing came since. */
  heardAt: number
  pingedAt: number
  /** `performance.now()` since when it does not keep up; 0 = it does. */
  fullSince: number
  /** Frames since the last tick, and what weighs as much. */
  frames: number
}

export function createSession(socket: WebSocket, address: string): Session {
  return {
    socket,
    address,
    state: 'strange',
    deviceId: 0,
    appId: '',
    connection: 0,
    unacknowledged: undefined,
    heardAt: performance.now(),
    pingedAt: 0,
    fullSince: 0,
    frames: 0,
  }
}

/** Bytes that may wait for a device to read; one message always may. */
const MOST_BUFFERED = 256 * 1024
/** Messages it may leave unacknowledged: more than an inbox holds means that it never acknowledges. */
const MOST_UNACKNOWLEDGED = 500

/** Whether nothing more may be written to it for now: what comes meanwhile waits in its inbox. */
export function isFull({ socket, unacknowledged }: Session, more = 0): boolean {
  return socket.bufferedAmount + more > MOST_BUFFERED || (unacknowledged?.size ?? 0) > MOST_UNACKNOWLEDGED
}

/** A device that reads or acknowledges nothing for so long is cut off; its messages stay in the inbox. */
const SLOW_MS = 10_000

/** How a connection does: `late` with its hello, `quiet` = to be pinged, `slow` and `silent` = to be cut off. */
export type Condition = 'well' | 'late' | 'quiet' | 'slow' | 'silent'

export function examine(session: Session, now: number): Condition {
  const silentMs = now - session.heardAt
  if (session.state === 'strange') return silentMs > helloSeconds * 1000 ? 'late' : 'well'
  if (!isFull(session)) session.fullSince = 0
  else if (session.fullSince === 0) session.fullSince = now
  else if (now - session.fullSince > SLOW_MS) return 'slow'
  if (silentMs > heartbeatSeconds * 2500) return 'silent'
  return silentMs > heartbeatSeconds * 1000 && session.pingedAt <= session.heardAt ? 'quiet' : 'well'
}
