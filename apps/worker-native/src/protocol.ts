/** Version 1 of the native channel: JSON text frames on a WebSocket. */
export const subprotocol = 'herald.v1'
export const helloSeconds = 10
export const heartbeatSeconds = 30
/** Task ids of one acknowledgement; a device is never behind by more. */
const MOST_TASKS = 1000

/** Why the gateway ends a connection. What a client is to do about it stands in the README. */
export const closings = {
  malformed: { code: 4400, reason: 'the frame is not a JSON object with a known op' },
  outOfTurn: { code: 4400, reason: 'the frame does not fit here: hello first and once' },
  badAck: { code: 4400, reason: 'task_ids must be a list of 1 to 1000 task ids' },
  noHello: { code: 4401, reason: 'no hello with a push token came' },
  unknownToken: { code: 4401, reason: 'no device has this push token' },
  slow: { code: 4408, reason: 'the device reads or acknowledges too slowly' },
  silent: { code: 4408, reason: 'the device answered no ping' },
  replaced: { code: 4409, reason: 'a newer connection of this device took over' },
  flooding: { code: 4429, reason: 'too many frames or acknowledgements' },
  restless: { code: 4429, reason: 'the device connects too often' },
  unavailable: { code: 1013, reason: 'the gateway cannot look devices up at present' },
  moving: { code: 4503, reason: 'this gateway is going away; connect again' },
} as const
export type Closing = keyof typeof closings

/** A connection is `strange` until its hello, `greeting` while the device is looked up, then `open`. */
export type State = 'strange' | 'greeting' | 'open' | 'over'

export type Event =
  | { kind: 'text'; text: string }
  | { kind: 'binary' }
  | { kind: 'time is up' }
  /** The answer of the lookup. */
  | { kind: 'recognised' }
  /** Anything that ends it from our side. */
  | { kind: 'end'; why: Closing }

export type Action =
  | { do: 'look up'; pushToken: string }
  | { do: 'welcome' }
  | { do: 'acknowledge'; taskIds: number[] }
  | { do: 'close'; code: number; reason: string }
  | { do: 'nothing' }

/** What a connection does about an event, and what it is afterwards. The meaning of the protocol is here, the socket elsewhere. */
export function step(state: State, event: Event): { state: State; action: Action } {
  if (state === 'over') return { state, action: { do: 'nothing' } }
  switch (event.kind) {
    case 'end':
      return end(event.why)
    case 'time is up':
      // A device that said hello in time does not pay for a slow lookup.
      return state === 'strange' ? end('noHello') : { state, action: { do: 'nothing' } }
    case 'recognised':
      return state === 'greeting' ? { state: 'open', action: { do: 'welcome' } } : end('outOfTurn')
    case 'binary':
      return end('malformed')
    case 'text':
      return read(state, event.text)
  }
}

function end(why: Closing): { state: State; action: Action } {
  return { state: 'over', action: { do: 'close', ...closings[why] } }
}

function read(state: State, text: string): { state: State; action: Action } {
  const frame = parse(text)
  switch (frame?.op) {
    case 'hello':
      if (state !== 'strange') return end('outOfTurn')
      return isPushToken(frame.push_token)
        ? { state: 'greeting', action: { do: 'look up', pushToken: frame.push_token } }
        : end('noHello')
    case 'ack': {
      if (state !== 'open') return end(state === 'strange' ? 'noHello' : 'outOfTurn')
      const taskIds = readTaskIds(frame.task_ids)
      return taskIds ? { state, action: { do: 'acknowledge', taskIds } } : end('badAck')
    }
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

/** Herald makes them of printable ASCII. Devices are looked up in groups: U+0000, which Postgres refuses, would fail them all. */
function isPushToken(value: unknown): value is string {
  return typeof value === 'string' && /^[!-~]{1,128}$/.test(value)
}

/** Numbers, or decimal strings as everywhere in the interface. */
function readTaskIds(value: unknown): number[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > MOST_TASKS) return undefined
  const ids = value.map((id) => (typeof id === 'string' && /^\d{1,16}$/.test(id) ? Number(id) : id))
  return ids.every((id) => Number.isSafeInteger(id) && id > 0) ? ids : undefined
}
