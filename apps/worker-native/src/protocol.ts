/** Version 1 of the native channel: JSON text frames on a WebSocket. */
export const subprotocol = 'herald.v1'
export const helloSeconds = 10
export const heartbeatSeconds = 30
/** Maximum number of task ids per acknowledgement; a device never has more unacknowledged messages. */
const MAX_TASKS = 1000

/** Why the gateway ends a connection. The README says what a client should do. */
export const closeReasons = {
  malformed: { code: 4400, reason: 'the frame is not a JSON object with a known op' },
  outOfTurn: { code: 4400, reason: 'unexpected frame: hello must come first and only once' },
  badAck: { code: 4400, reason: 'task_ids must be a list of 1 to 1000 task ids' },
  // The client compares this text, to reconnect after a delayed hello.
  noHello: { code: 4401, reason: 'no hello with a push token was received' },
  unknownToken: { code: 4401, reason: 'no device has this push token' },
  revoked: { code: 4401, reason: 'the push token was replaced, or the device was removed' },
  slow: { code: 4408, reason: 'the device reads or acknowledges too slowly' },
  silent: { code: 4408, reason: 'the device did not answer a ping' },
  replaced: { code: 4409, reason: 'replaced by a newer connection of this device' },
  flooding: { code: 4429, reason: 'too many frames or acknowledgements' },
  reconnecting: { code: 4429, reason: 'the device connects too often' },
  unavailable: { code: 1013, reason: 'the gateway cannot look up devices at the moment' },
  draining: { code: 4503, reason: 'this gateway is shutting down; reconnect' },
} as const
export type CloseReason = keyof typeof closeReasons

/** A connection is `unidentified` until its hello, `identifying` during the lookup of the device, then `open`. */
export type State = 'unidentified' | 'identifying' | 'open' | 'over'

export type Event =
  | { kind: 'text'; text: string }
  | { kind: 'binary' }
  | { kind: 'hello timeout' }
  /** The lookup found the device. */
  | { kind: 'identified' }
  /** The gateway ends the connection. */
  | { kind: 'end'; why: CloseReason }

export type Action =
  /** `beats`: the client reads frames that only say that the gateway is there. `away`: its app is in the background. */
  | { do: 'look up'; pushToken: string; beats: boolean; away: boolean }
  | { do: 'welcome' }
  | { do: 'acknowledge'; taskIds: number[] }
  | { do: 'change presence'; away: boolean }
  | { do: 'close'; code: number; reason: string }
  | { do: 'nothing' }

/** Returns the action for an event and the next state. Pure: sockets are handled in connections.ts. */
export function step(state: State, event: Event): { state: State; action: Action } {
  if (state === 'over') return { state, action: { do: 'nothing' } }
  switch (event.kind) {
    case 'end':
      return end(event.why)
    case 'hello timeout':
      // A slow lookup is not the device's fault.
      return state === 'unidentified' ? end('noHello') : { state, action: { do: 'nothing' } }
    case 'identified':
      return state === 'identifying' ? { state: 'open', action: { do: 'welcome' } } : end('outOfTurn')
    case 'binary':
      return end('malformed')
    case 'text':
      return read(state, event.text)
  }
}

function end(why: CloseReason): { state: State; action: Action } {
  return { state: 'over', action: { do: 'close', ...closeReasons[why] } }
}

function read(state: State, text: string): { state: State; action: Action } {
  const frame = parse(text)
  switch (frame?.op) {
    case 'hello':
      if (state !== 'unidentified') return end('outOfTurn')
      return isPushToken(frame.push_token)
        ? {
            state: 'identifying',
            action: {
              do: 'look up',
              pushToken: frame.push_token,
              beats: frame.beats === true,
              away: frame.away === true,
            },
          }
        : end('unknownToken')
    case 'ack': {
      if (state !== 'open') return end(state === 'unidentified' ? 'noHello' : 'outOfTurn')
      const taskIds = readTaskIds(frame.task_ids)
      return taskIds ? { state, action: { do: 'acknowledge', taskIds } } : end('badAck')
    }
    case 'away':
    case 'here':
      if (state !== 'open') return end(state === 'unidentified' ? 'noHello' : 'outOfTurn')
      return { state, action: { do: 'change presence', away: frame.op === 'away' } }
    default:
      return end('malformed')
  }
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/** Push tokens are printable ASCII. Lookups are grouped: a U+0000, which Postgres refuses, would fail the whole group. */
function isPushToken(value: unknown): value is string {
  return typeof value === 'string' && /^[!-~]{1,128}$/.test(value)
}

/** Ids are numbers, or decimal strings as in the HTTP interface. */
function readTaskIds(value: unknown): number[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_TASKS) return undefined
  const ids = value.map((id) => (typeof id === 'string' && /^\d{1,16}$/.test(id) ? Number(id) : id))
  return ids.every((id) => Number.isSafeInteger(id) && id > 0) ? ids : undefined
}
