import { connect, createServer, type Socket } from 'node:net'
import { listen } from './servers.ts'

/** A TCP proxy that can drop traffic as a lost network does: no data, no error, no end. */
export type SilentProxy = {
  port: number
  /** Drops the traffic of open connections for good; new ones work. */
  silenceOpen(): void
  /** Drops the traffic of open and new connections; after `restore` new ones work. */
  silenceAll(): void
  restore(): void
  /** Drops the next matching message to the server and silences its connection; resolves when that has happened. */
  lose(message: RegExp): Promise<void>
  /** Drops all matching messages to the server from now on, and silences each connection that sends one. */
  loseEvery(message: RegExp): void
  /** Passes the next matching message on and silences its connection, so that the reply is lost; resolves when that has happened. */
  loseReply(message: RegExp): Promise<void>
  close(): Promise<void>
}

export async function startSilentProxy(target: number): Promise<SilentProxy> {
  const pairs = new Set<[Socket, Socket]>()
  const silenced = new WeakSet<Socket>()
  let silent = false
  let neverPassed: RegExp | undefined
  let lost: { message: RegExp; resolve: () => void; deliver: boolean } | undefined
  const server = createServer((inner) => {
    const outer = connect(target, '127.0.0.1')
    const pair: [Socket, Socket] = [inner, outer]
    pairs.add(pair)
    for (const socket of pair) {
      socket.on('error', () => {})
      socket.on('close', () => {
        pairs.delete(pair)
        for (const other of pair) other.destroy()
      })
    }
    if (silent) return
    // Not a pipe, which would still pass on the message at which it is taken away.
    inner.on('data', (bytes) => {
      const text = bytes.toString('latin1')
      if (neverPassed?.test(text)) silence(pair)
      if (lost?.message.test(text)) {
        if (lost.deliver) outer.unpipe(inner).resume()
        else silence(pair)
        lost.resolve()
        lost = undefined
      }
      if (!silenced.has(inner)) outer.write(bytes)
    })
    inner.on('end', () => outer.end())
    outer.pipe(inner)
  })
  const port = await listen(server)

  function silence([inner, outer]: [Socket, Socket]): void {
    silenced.add(inner)
    outer.unpipe(inner).resume()
  }

  function silenceOpen(): void {
    for (const pair of pairs) silence(pair)
  }

  return {
    port,
    silenceOpen,
    silenceAll: () => {
      silent = true
      silenceOpen()
    },
    restore: () => {
      silent = false
    },
    lose: (message) =>
      new Promise((resolve) => {
        lost = { message, resolve, deliver: false }
      }),
    loseEvery: (message) => {
      neverPassed = message
    },
    loseReply: (message) =>
      new Promise((resolve) => {
        lost = { message, resolve, deliver: true }
      }),
    close: async () => {
      for (const pair of pairs) for (const socket of pair) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
