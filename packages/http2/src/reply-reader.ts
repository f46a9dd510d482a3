import type { FieldList } from './hpack/decoder.ts'
import { Reply } from './reply.ts'
import type { Stream } from './stream.ts'

/** Informational replies (1xx) are skipped up to this number. */
const maxInformational = 32

const connectionFields = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
])

/** Adds a header block to the stream's reply; returns the violation if it is invalid. */
export function takeHeaders(stream: Stream, list: FieldList, endStream: boolean): string | undefined {
  if (list.malformed) return 'a header name or value is not allowed in HTTP/2'
  if (stream.status !== 0) return checkTrailers(list, endStream)
  const { fields } = list
  const status = fields[0] === ':status' ? readStatus(fields[1]!) : 0
  if (status === 0) return 'the header block does not start with a valid :status'
  const wrong = findForbidden(fields, 2)
  if (wrong !== undefined) return wrong
  if (status < 200) {
    if (status === 101) return 'status 101 does not exist in HTTP/2'
    if (endStream) return `the stream ended with the informational status ${status}`
    stream.informational += 1
    return stream.informational > maxInformational ? 'too many informational headers' : undefined
  }
  stream.status = status
  stream.fields = fields
  return undefined
}

/** Trailers end a reply; their fields are ignored. */
function checkTrailers(list: FieldList, endStream: boolean): string | undefined {
  return endStream ? findForbidden(list.fields, 0) : 'a second header block does not end the stream'
}

function findForbidden(fields: readonly string[], from: number): string | undefined {
  for (let at = from; at < fields.length; at += 2) {
    const name = fields[at]!
    if (name.charCodeAt(0) === 58) return `the pseudo header ${name} is not allowed there`
    if (connectionFields.has(name)) return `the header ${name} is not allowed in HTTP/2`
  }
  return undefined
}

function readStatus(text: string): number {
  if (text === '200') return 200
  return /^[1-5]\d\d$/.test(text) ? Number(text) : 0
}

/** Adds to the body. The bytes are copied because they belong to the socket's buffer. */
export function takeData(stream: Stream, bytes: Buffer, start: number, end: number): void {
  const added = end - start
  if (added === 0) return
  const needed = stream.bodyLength + added
  if (stream.body.length < needed) {
    const grown = Buffer.allocUnsafe(
      stream.bodyLength === 0 ? added : Math.max(needed, stream.body.length * 2),
    )
    grown.set(stream.body.subarray(0, stream.bodyLength), 0)
    stream.body = grown
  }
  bytes.copy(stream.body, stream.bodyLength, start, end)
  stream.bodyLength = needed
}

/** Returns the reply of a stream that has ended, or the violation if it is invalid. */
export function finishReply(stream: Stream): Reply | string {
  const { status, fields } = stream
  if (status === 0) return 'the stream ended without headers'
  for (let at = 0; at < fields.length; at += 2) {
    if (fields[at] !== 'content-length') continue
    const bodiless = status === 204 || status === 304 || stream.multicast.shape.method === 'HEAD'
    if (!bodiless && fields[at + 1] !== String(stream.bodyLength)) {
      return `content-length is ${fields[at + 1]} but the body has ${stream.bodyLength} bytes`
    }
  }
  const body =
    stream.body.length === stream.bodyLength ? stream.body : stream.body.subarray(0, stream.bodyLength)
  return new Reply(status, fields, body)
}
