import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { DistinctSet, Fingerprint } from '../http2/distinct-set.ts'
import { findCall } from './vendor-calls.ts'

/** `requests` counts devices asked for, as one request of the HTTP/2 sink is one device. */
export type DeviceCounts = { requests: number; distinct: number }
export type ListCounts = Record<string, DeviceCounts>

/**
 * Vendors that take everything, each below its own name: `/xiaomi/v3/message/regid`. Of a body it reads where the tokens are
 * and nothing else: whether requests are right is for the simulators, here a device must cost next to nothing.
 */
export function openListSink(): { server: Server; takeCounts(): ListCounts } {
  const seen = new Map<string, { requests: number; distinct: DistinctSet }>()
  const print = new Fingerprint()

  function count(vendor: string, body: Buffer, start: number, end: number): void {
    const entry = seen.get(vendor) ?? { requests: 0, distinct: new DistinctSet() }
    seen.set(vendor, entry)
    print.restart('')
    print.add(body, start, end)
    entry.requests += 1
    entry.distinct.add(print)
  }

  function answer(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const [, vendor = '', path = ''] = /^\/(\w+)(\/[^?]*)/.exec(request.url ?? '') ?? []
    const call = findCall(vendor, path)
    if (!call) {
      response.writeHead(404).end(`the sink knows no call ${path} of ${vendor}`)
      return
    }
    const tokens: string[] = []
    call.find?.(body, (start, end) => {
      count(vendor, body, start, end)
      if (call.answer.length > 0) tokens.push(body.toString('latin1', start, end))
    })
    response.writeHead(200, { 'content-type': 'application/json' }).end(call.answer(tokens))
  }

  const server = createServer({ noDelay: true }, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () =>
      answer(request, response, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)),
    )
  })
  // A connection closed while the next call is on its way would look like a vendor in trouble.
  server.keepAliveTimeout = 0

  return {
    server,
    takeCounts() {
      const counts = Object.fromEntries(
        [...seen].map(([vendor, { requests, distinct }]) => [vendor, { requests, distinct: distinct.size }]),
      )
      seen.clear()
      return counts
    },
  }
}
