import { connect, createServer, type Socket } from 'node:net'

/** Stands between a client and a server, and can fall silent as a lost network does: no data, no error, no end. */
export type SilentProxy = {
  port: number
  /** Open connections go silent for good; new ones pass. */
  silenceOpen(): void
  /** Open and new connections go silent for good, until `restore` lets new ones pass. */
  silenceAll(): void
  restore(): void
  close(): Promise<void>
}

export async function startSilentProxy(target: number): Promise<SilentProxy> {
  const pairs = new Set<[Socket, Socket]>()
  let silent = false
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
    inner.pipe(outer)
    outer.pipe(inner)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  function silenceOpen(): void {
    for (const [inner, outer] of pairs) {
      inner.unpipe(outer).resume()
      outer.unpipe(inner).resume()
    }
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
    close: async () => {
      for (const pair of pairs) for (const socket of pair) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
