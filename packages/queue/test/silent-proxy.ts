import { connect, createServer, type Socket } from 'node:net'

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
  close(): Promise<void>
}

export async function startSilentProxy(target: number): Promise<SilentProxy> {
  const pairs = new Set<[Socket, Socket]>()
  let silent = false
  let lost: { message: RegExp; resolve: () => void } | undefined
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
    inner.on('data', (bytes) => {
      if (!lost?.message.test(bytes.toString('latin1'))) return
      silence(pair)
      lost.resolve()
      lost = undefined
    })
    inner.pipe(outer)
    outer.pipe(inner)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  function silence([inner, outer]: [Socket, Socket]): void {
    inner.unpipe(outer).resume()
    outer.unpipe(inner).resume()
  }

  function silenceOpen(): void {
    for (const pair of pairs) silence(pair)
  }

  return {
    port: (server.address() as { port: number }).port,
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
        lost = { message, resolve }
      }),
    close: async () => {
      for (const pair of pairs) for (const socket of pair) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
