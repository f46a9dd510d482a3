import { Flag, FrameType, makeFrame } from '../../src/frames.ts'

/** A header block of literals that are not indexed. */
export function block(fields: Record<string, string>): Buffer {
  return Buffer.concat(
    Object.entries(fields).flatMap(([name, value]) => [Buffer.from([0x00]), text(name), text(value)]),
  )
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1')
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes])
  const length = [127]
  let rest = bytes.length - 127
  for (; rest >= 128; rest >>>= 7) length.push((rest & 127) | 128)
  return Buffer.concat([Buffer.from([...length, rest]), bytes])
}

export function headersFrame(stream: number, fields: Record<string, string>, endStream = false): Buffer {
  return makeFrame(
    FrameType.headers,
    Flag.endHeaders | (endStream ? Flag.endStream : 0),
    stream,
    block(fields),
  )
}

export function dataFrame(stream: number, payload: string | Uint8Array, endStream = false): Buffer {
  return makeFrame(FrameType.data, endStream ? Flag.endStream : 0, stream, Buffer.from(payload))
}

/** A complete reply. */
export function answer(stream: number, status = 200, body = ''): Buffer {
  const head = headersFrame(stream, { ':status': String(status) }, body === '')
  return body === '' ? head : Buffer.concat([head, dataFrame(stream, body, true)])
}
