import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { createSecureContext, createServer } from 'node:tls'
import { createAuthority } from '@herald/simulators/authority'
import { acceptConnect } from './connect-proxy.ts'
import { DistinctSet } from './distinct-set.ts'
import { type SinkCounts, serveSink } from './sink-connection.ts'

// Run by start-sink.ts: sends its ports, then on each message its counts since the previous one.
const fixtures = new URL('../../packages/http2/test/fixtures/', import.meta.url)
const counts: SinkCounts = { requests: 0, distinct: new DistinctSet() }
const [maxStreams, proxiedHost] = process.argv.slice(2) as [string, string]

const authority = createAuthority('Herald bench')
const proxied = createSecureContext(authority.issue({ subject: { CN: proxiedHost }, hosts: [proxiedHost] }))

const server = createServer(
  {
    key: readFileSync(new URL('server.key', fixtures)),
    cert: readFileSync(new URL('server.pem', fixtures)),
    SNICallback: (name, done) => done(null, name === proxiedHost ? proxied : undefined),
    ALPNProtocols: ['h2'],
    noDelay: true,
  },
  (socket) => serveSink(socket, counts, Number(maxStreams)),
)
// Without another process in between: the connection continues as one of the sink.
const proxy = createTcpServer({ noDelay: true }, (socket) =>
  acceptConnect(socket, () => server.emit('connection', socket)),
)
server.listen(0, '127.0.0.1', () =>
  proxy.listen(0, '127.0.0.1', () =>
    process.send!({
      port: (server.address() as AddressInfo).port,
      proxyPort: (proxy.address() as AddressInfo).port,
      authority: authority.cert,
    }),
  ),
)

process.on('message', () => {
  process.send!({ requests: counts.requests, distinct: counts.distinct.size })
  counts.requests = 0
  counts.distinct = new DistinctSet()
})
process.on('disconnect', () => process.exit(0))
