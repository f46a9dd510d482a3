import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import { settingsFrame, windowUpdateFrame } from '../../src/frames.ts'
import { endsStream, FrameLog, headerOf, type Seen } from './frame-log.ts'

export type RawConnection = {
  socket: Socket
  log: FrameLog
  /** Which connection of this server it is, from 0. */
  number: number
  send(...frames: Uint8Array[]): void
}

export type RawScript = {
  /** Before anything is read; by default it sends empty SETTINGS and the maximum window. */
  onConnect?: (connection: RawConnection) => void
  onFrame?: (connection: RawConnection, seen: Seen) => void
  /** A request is complete. */
  onRequest?: (connection: RawConnection, stream: number, path: string) => void
}

export type RawServer = {
  port: number
  origin: string
  connections: RawConnection[]
  /** Paths of the complete requests, in order. */
  paths: string[]
  close(): Promise<void>
}

/** A server that does exactly what the script says, valid or not; over TLS when options are given. */
export async function startRawServer(script: RawScript, tls?: TlsOptions, fixedPort = 0): Promise<RawServer> {
  const connections: RawConnection[] = []
  const paths: string[] = []
  const onSocket = (socket: Socket) => {
    const open = new Map<number, string>()
    const log = new FrameLog((seen) => {
      script.onFrame?.(connection, seen)
      const path = headerOf(seen, ':path')
      if (path !== undefined) open.set(seen.stream, path)
      if (!endsStream(seen)) return
      paths.push(open.get(seen.stream)!)
      script.onRequest?.(connection, seen.stream, open.get(seen.stream)!)
    })
    const connection: RawConnection = {
      socket,
      log,
      number: connections.length,
      send: (...frames) => {
        if (!socket.destroyed) socket.write(Buffer.concat(frames))
      },
    }
    connections.push(connection)
    socket.on('error', () => {})
    socket.on('data', (chunk) => log.push(chunk))
    if (script.onConnect === undefined)
      connection.send(settingsFrame([]), windowUpdateFrame(0, 0x7fffffff - 65_535))
    else script.onConnect(connection)
  }
  const server: Server =
    tls === undefined ? createServer({ noDelay: true }, onSocket) : createTlsServer(tls, onSocket)
  const port = await listen(server, fixedPort)
  return {
    port,
    origin: `${tls === undefined ? 'http' : 'https'}://localhost:${port}`,
    connections,
    paths,
    close: async () => {
      for (const { socket } of connections) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export async function listen(server: Server, port = 0): Promise<number> {
  await new Promise<void>((resolve) => server.listen(port, 'localhost', resolve))
  return (server.address() as { port: number }).port
}
