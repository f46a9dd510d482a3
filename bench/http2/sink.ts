import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:tls'
import { DistinctSet } from './distinct-set.ts'
import { type SinkCounts, serveSink } from './sink-connection.ts'

// Run by start-sink.ts: sends its port, then on each message its counts since the previous one.
const fixtures = new URL('../../packages/http2/test/fixtures/', import.meta.url)
const counts: SinkCounts = { requests: 0, distinct: new DistinctSet() }

const server = createServer(
  {
    key: readFileSync(new URL('server.key', fixtures)),
    cert: readFileSync(new URL('server.pem', fixtures)),
    ALPNProtocols: ['h2'],
    noDelay: true,
  },
  (socket) => serveSink(socket, counts, Number(process.argv[2])),
)
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port }))

process.on('message', () => {
  process.send!({ requests: counts.requests, distinct: counts.distinct.size })
  counts.requests = 0
  counts.distinct = new DistinctSet()
})
process.on('disconnect', () => process.exit(0))
