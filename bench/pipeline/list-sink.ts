import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { DistinctSet, Fingerprint } from '../http2/distinct-set.ts'
import type { PushCounts } from '../http2/start-sink.ts'
import { findCall } from './vendor-calls.ts'

/** Counts by vendor; `requests` is the number of tokens in all calls. */
export type ListCounts = Record<string, PushCounts>

/**
 * Vendors that accept every call, each below its own name: `/xiaomi/v3/message/regid`. Only the tokens of a body are read, to
 * keep the cost per device low; the simulators check whether requests are correct.
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

  function respond(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const [, vendor = '', path = ''] = /^\/(\w+)(\/[^?]*)/.exec(request.url ?? '') ?? []
    const call = findCall(vendor, path)
    if (!call) {
      response.writeHead(404).end(`the sink does not know the call ${path} of ${vendor}`)
      return
    }
    const tokens: string[] = []
    call.find?.(body, (start, end) => {
      count(vendor, body, start, end)
      if (call.response.length > 0) tokens.push(body.toString('latin1', start, end))
    })
    response.writeHead(200, { 'content-type': 'application/json' }).end(call.response(tokens))
  }

  const server = createServer({ noDelay: true }, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () =>
      respond(request, response, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)),
    )
  })
  // Closing an idle connection while the next call arrives would look like an outage of the vendor.
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
