import type { WebSocket } from 'ws'
import type { State } from './protocol.ts'

/** One connection. There may be very many, so it contains nothing that can be computed or shared. */
export type Session = {
  socket: WebSocket
  address: string
  state: State
  /** 0 until the device is identified. */
  deviceId: number
  appId: string
  connection: number
  /** Of the push token. */
  generation: number
  /** The app is in the background: nothing is written. */
  away: boolean
  /** The client asked for beats. */
  beats: boolean
  /** Tasks written to this connection and not acknowledged yet. */
  unacknowledged: Set<number> | undefined
  /** `performance.now()` of the last frame, or of the close frame when the connection is over; and of the last ping. */
  heardAt: number
  pingedAt: number
  /** `performance.now()` since when the connection is full; 0 = it is not. */
  fullSince: number
  /** Frames since the last tick; acknowledged tasks count in part. */
  frames: number
  /** Acknowledged tasks that were not written to this connection. */
  unprovenAcks: number
}

export function createSession(socket: WebSocket, address: string): Session {
  const now = performance.now()
  return {
    socket,
    address,
    state: 'unidentified',
    deviceId: 0,
    appId: '',
    connection: 0,
    generation: 0,
    away: false,
    beats: false,
    unacknowledged: undefined,
    heardAt: now,
    pingedAt: now,
    fullSince: 0,
    frames: 0,
    unprovenAcks: 0,
  }
}

/** Maximum number of buffered bytes per device; one message may exceed it. */
const MAX_BUFFERED = 256 * 1024
/** Maximum number of unacknowledged messages: with more than an inbox contains, the device never acknowledges. */
const MAX_UNACKNOWLEDGED = 500

/** Whether nothing more may be written to the connection; further messages wait in the inbox. */
export function isFull({ socket, unacknowledged }: Session, more = 0): boolean {
  return socket.bufferedAmount + more > MAX_BUFFERED || (unacknowledged?.size ?? 0) > MAX_UNACKNOWLEDGED
}
