import { readFileSync, statSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { Duplex } from 'node:stream'
import { type Settings, SettingsError } from '@herald/settings'
import { answerDemo } from './demo.ts'
import { path, refuse, type Upgrade } from './upgrade.ts'

export type Door = {
  serve(upgrade: Upgrade): void
  /** Lets nobody new in, so that a balancer takes them elsewhere at once. */
  refuseNew(): void
  close(): Promise<void>
}

const RENEWAL_MS = 60_000
/** Who opens a connection has so long to ask for something; a handshake is one short request. */
const patience = {
  headersTimeout: 10_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 8 * 1024,
}

const nothingElse = `Connections are served at ${path}.`

/** Serves connections at /native: on a server that serves other things too, or on a port of its own. */
export async function openDoor(settings: Settings, shared?: Server): Promise<Door> {
  let upgrade: Upgrade = (_request, socket) =>
    refuse(socket, '503 Service Unavailable', 'This gateway is starting.')
  const serve = (next: Upgrade) => {
    upgrade = next
  }
  if (shared) {
    const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (isNative(request)) upgrade(request, socket, head)
      // With nobody else to take it, it would stay open for ever.
      else if (shared.listenerCount('upgrade') === 1) refuse(socket, '404 Not Found', nothingElse)
    }
    shared.on('upgrade', onUpgrade)
    // At once, because the gateway that follows may be there before this one has ended, and one handshake has one answer.
    return { serve, refuseNew: () => void shared.off('upgrade', onUpgrade), close: async () => {} }
  }
  const { server, stopWatching } = createOwnServer(settings)
  server.on('upgrade', (request, socket, head) => {
    if (isNative(request)) upgrade(request, socket, head)
    else refuse(socket, '404 Not Found', nothingElse)
  })
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

function isNative(request: IncomingMessage): boolean {
  return request.url?.split('?')[0] === path
}

function createOwnServer(settings: Settings): { server: Server | TlsServer; stopWatching(): void } {
  const onRequest: Parameters<typeof createServer>[1] = (request, response) => {
    if (answerDemo(request, response)) return
    response
      .writeHead(404, { 'content-type': 'application/json' })
      .end(JSON.stringify({ message: `There is nothing here but connections at ${path}.` }))
  }
  const files = tlsFiles(settings)
  if (!files) return { server: createServer(patience, onRequest), stopWatching: () => {} }
  const server = createTlsServer({ ...patience, handshakeTimeout: 10_000, ...readTls(files) }, onRequest)
  let seen = changedAt(files)
  const timer = setInterval(() => {
    // A renewal replaces two files one after the other; a pair that does not fit is tried again.
    try {
      const now = changedAt(files)
      if (now === seen) return
      server.setSecureContext(readTls(files))
      seen = now
    } catch {}
  }, RENEWAL_MS)
  return { server, stopWatching: () => clearInterval(timer) }
}

type TlsFiles = { cert: string; key: string }

function tlsFiles({ gatewayTlsCertFile: cert, gatewayTlsKeyFile: key }: Settings): TlsFiles | undefined {
  if (cert === undefined && key === undefined) return undefined
  if (cert === undefined || key === undefined)
    throw new SettingsError(
      'HERALD_GATEWAY_TLS_CERT and HERALD_GATEWAY_TLS_KEY must both be set, or neither.',
    )
  return { cert, key }
}

function readTls({ cert, key }: TlsFiles): { cert: Buffer; key: Buffer } {
  const read = (name: string, file: string) => {
    try {
      return readFileSync(file)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw new SettingsError(`${name} names the file ${file}, which cannot be read (${code}).`)
    }
  }
  return { cert: read('HERALD_GATEWAY_TLS_CERT', cert), key: read('HERALD_GATEWAY_TLS_KEY', key) }
}

function changedAt({ cert, key }: TlsFiles): string {
  return `${statSync(cert).mtimeMs} ${statSync(key).mtimeMs}`
}
