/** Frames of RFC 9113 section 6 as numbers and bytes. */
export const FrameType = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const

export const Flag = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const

export const Setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const

export const ErrorCode = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  settingsTimeout: 4,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  connectError: 10,
  enhanceYourCalm: 11,
  inadequateSecurity: 12,
  http11Required: 13,
} as const

const errorNames = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
]

export const errorName = (code: number): string => errorNames[code] ?? `error ${code}`

export const clientPreface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')
export const frameHeaderBytes = 9
/** Every peer accepts this frame size. It is also our maximum, as we never announce another. */
export const defaultFrameSize = 16_384
export const defaultWindow = 65_535
export const maxWindow = 0x7fffffff
export const maxStreamId = 0x7fffffff

/** A protocol violation by the peer that ends the connection. */
export class ConnectionError extends Error {
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export function putFrameHeader(
  target: Uint8Array,
  at: number,
  length: number,
  type: number,
  flags: number,
  stream: number,
): void {
  target[at] = length >>> 16
  target[at + 1] = length >>> 8
  target[at + 2] = length
  target[at + 3] = type
  target[at + 4] = flags
  putUint32(target, at + 5, stream)
}

function putUint32(target: Uint8Array, at: number, value: number): void {
  target[at] = value >>> 24
  target[at + 1] = value >>> 16
  target[at + 2] = value >>> 8
  target[at + 3] = value
}

export function readUint32(source: Uint8Array, at: number): number {
  return ((source[at]! << 24) | (source[at + 1]! << 16) | (source[at + 2]! << 8) | source[at + 3]!) >>> 0
}

export function makeFrame(
  type: number,
  flags: number,
  stream: number,
  payload: Uint8Array = Buffer.alloc(0),
): Buffer {
  const frame = Buffer.allocUnsafe(frameHeaderBytes + payload.length)
  putFrameHeader(frame, 0, payload.length, type, flags, stream)
  frame.set(payload, frameHeaderBytes)
  return frame
}

export function settingsFrame(pairs: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.allocUnsafe(pairs.length * 6)
  pairs.forEach(([id, value], at) => {
    payload.writeUInt16BE(id, at * 6)
    payload.writeUInt32BE(value, at * 6 + 2)
  })
  return makeFrame(FrameType.settings, 0, 0, payload)
}

export const settingsAck = (): Buffer => makeFrame(FrameType.settings, Flag.ack, 0)

export const pingFrame = (payload: Uint8Array, ack: boolean): Buffer =>
  makeFrame(FrameType.ping, ack ? Flag.ack : 0, 0, payload)

export const rstStreamFrame = (stream: number, code: number): Buffer =>
  makeFrame(FrameType.rstStream, 0, stream, uint32(code))

export const windowUpdateFrame = (stream: number, bytes: number): Buffer =>
  makeFrame(FrameType.windowUpdate, 0, stream, uint32(bytes))

export const goawayFrame = (lastStream: number, code: number, debug = ''): Buffer =>
  makeFrame(FrameType.goaway, 0, 0, Buffer.concat([uint32(lastStream), uint32(code), Buffer.from(debug)]))

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32BE(value)
  return bytes
}
