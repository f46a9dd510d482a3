import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { callerAddress } from '@herald/program'
import { type Settings, SettingsError } from '@herald/settings'
import type { Logger } from '@herald/telemetry'
import { serveDemo } from './demo.ts'
import { readTls, tlsFiles, watchRenewal } from './gateway-tls.ts'
import { path, refuse, type Upgrade } from './upgrade.ts'

export type Listener = {
  /** `upgradedOf`: number of open connections of an address that were upgraded. */
  serve(upgrade: Upgrade, upgradedOf: (address: string) => number): void
  /** Refuses new connections, so that a load balancer uses another gateway at once. */
  refuseNew(): void
  close(): Promise<void>
}

/** TCP connections per address without a complete handshake; as many as a burst of handshakes. */
const MAX_HALF_OPEN = 2000
const RENEWAL_CHECK_MS = 60_000
/** Short limits, because a handshake is one small request. */
const limits = {
  headersTimeout: 10_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 8 * 1024,
  // Otherwise the header Upgrade of an HTTP client that offers HTTP/2 would keep it from the demo page.
  shouldUpgradeCallback: isNative,
}

const notFound = `Only WebSocket connections at ${path} are served here.`

/** Accepts connections at /native, on a server that serves other paths too or on its own port. */
export async function openListener(
  settings: Settings,
  log: Pick<Logger, 'warn'>,
  shared?: Server,
): Promise<Listener> {
  let upgrade: Upgrade = (_request, socket) =>
    refuse(socket, '503 Service Unavailable', 'This gateway is starting.')
  let upgradedOf = (_address: string) => 0
  const serve: Listener['serve'] = (next, countOf) => {
    upgrade = next
    upgradedOf = countOf
  }
  // A server may pass on requests for other paths; without a response their sockets would stay open forever.
  const onUpgrade: Upgrade = (request, socket, head) => {
    if (isNative(request)) upgrade(request, socket, head)
    else refuse(socket, '404 Not Found', notFound)
  }
  if (shared) {
    shared.on('upgrade', onUpgrade)
    // At once: the next gateway may start before this one has ended, and a handshake must get one response.
    return { serve, refuseNew: () => void shared.off('upgrade', onUpgrade), close: async () => {} }
  }
  const { server, stopWatching } = createOwnServer(settings, log)
  // Behind a proxy all connections have its address, and the proxy completes the handshakes.
  if (settings.gatewayPerAddress > 0 && settings.trustedProxies === 0)
    limitHalfOpen(server, (address) => upgradedOf(address))
  server.on('upgrade', onUpgrade)
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const { host, gatewayPort } = settings
      reject(
        new SettingsError(`HERALD_GATEWAY_PORT ${gatewayPort} of ${host} cannot be used (${error.code}).`),
      )
    })
    server.listen(settings.gatewayPort, settings.host, resolve)
  })
  const closed = new Promise<void>((resolve) => server.once('close', resolve))
  return {
    serve,
    refuseNew() {
      stopWatching()
      server.close()
      server.closeIdleConnections()
    },
    async close() {
      server.closeAllConnections()
      await closed
    },
  }
}

/** Ends TCP connections of an address that has `max` others that are not upgraded. */
export function limitHalfOpen(
  server: Server | TlsServer,
  upgradedOf: (address: string) => number,
  max = MAX_HALF_OPEN,
): void {
  const open = new Map<string, number>()
  const addressOf = (socket: Socket) => callerAddress({ socket, headers: {} } as IncomingMessage, 0)
  // Shared by all sockets; a closure for each would cost memory. A closed socket still knows its address.
  function onClose(this: Socket): void {
    const address = addressOf(this)
    const left = open.get(address)! - 1
    if (left > 0) open.set(address, left)
    else open.delete(address)
  }
  server.on('connection', (socket: Socket) => {
    const address = addressOf(socket)
    const count = open.get(address) ?? 0
    if (count - upgradedOf(address) >= max) return void socket.destroy()
    open.set(address, count + 1)
    socket.on('close', onClose)
  })
}

function isNative(request: IncomingMessage): boolean {
  return request.url?.split('?')[0] === path
}

function createOwnServer(
  settings: Settings,
  log: Pick<Logger, 'warn'>,
): { server: Server | TlsServer; stopWatching(): void } {
  const onRequest: Parameters<typeof createServer>[1] = (request, response) => {
    if (serveDemo(request, response)) return
    response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify({ message: notFound }))
  }
  const files = tlsFiles(settings)
  if (!files) return { server: createServer(limits, onRequest), stopWatching: () => {} }
  const server = createTlsServer({ ...limits, handshakeTimeout: 10_000, ...readTls(files) }, onRequest)
  const timer = setInterval(watchRenewal(server, files, log), RENEWAL_CHECK_MS)
  return { server, stopWatching: () => clearInterval(timer) }
}
