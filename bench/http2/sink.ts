import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:tls'
import { DistinctSet } from './distinct-set.ts'
import { type SinkCounts, serveSink } from './sink-connection.ts'

/**
 * The sink as a process of its own, started with fork: tells its port, and on each message its counts since the last one
 * with the CPU time it took, so that the benchmark can see whether the sink was the limit.
 */
export type SinkMessage = { port: number } | { requests: number; distinct: number; cpuMs: number }

const fixtures = new URL('../../packages/http2/test/fixtures/', import.meta.url)
const counts: SinkCounts = { requests: 0, distinct: new DistinctSet() }
let cpu = process.cpuUsage()

const server = createServer(
  {
    key: readFileSync(new URL('server.key', fixtures)),
    cert: readFileSync(new URL('server.pem', fixtures)),
    ALPNProtocols: ['h2'],
    noDelay: true,
  },
  (socket) => serveSink(socket, counts, Number(process.argv[2] ?? 1000)),
)
server.listen(0, '127.0.0.1', () => tell({ port: (server.address() as AddressInfo).port }))

process.on('message', () => {
  const { user, system } = process.cpuUsage(cpu)
  tell({ requests: counts.requests, distinct: counts.distinct.size, cpuMs: (user + system) / 1000 })
  counts.requests = 0
  counts.distinct = new DistinctSet()
  cpu = process.cpuUsage()
})
process.on('disconnect', () => process.exit(0))

function tell(message: SinkMessage): void {
  process.send?.(message)
}
