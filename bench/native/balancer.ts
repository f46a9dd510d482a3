import { connect, createServer, type Socket } from 'node:net'

export type Balancer = {
  port: number
  /** Cuts all connections. */
  cut(): void
  close(): Promise<void>
}

/** A TCP load balancer: each connection goes to a random port that accepts it. */
export async function startBalancer(ports: readonly number[], random: () => number): Promise<Balancer> {
  const open = new Set<Socket>()
  const server = createServer((front) => {
    track(front)
    const order = random() < 0.5 ? [...ports] : [...ports].reverse()
    tryNext(front, order)
  })

  function tryNext(front: Socket, order: number[]): void {
    const port = order.shift()
    if (port === undefined) {
      front.destroy()
      return
    }
    const back = connect(port, '127.0.0.1')
    track(back)
    back.once('error', () => tryNext(front, order))
    back.once('connect', () => {
      back.removeAllListeners('error')
      back.on('error', () => front.destroy())
      front.on('error', () => back.destroy())
      front.on('close', () => back.destroy())
      back.on('close', () => front.destroy())
      front.pipe(back)
      back.pipe(front)
    })
    front.on('error', () => back.destroy())
  }

  function track(socket: Socket): void {
    socket.setNoDelay(true)
    open.add(socket)
    socket.on('close', () => open.delete(socket))
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as { port: number }).port,
    cut() {
      for (const socket of open) socket.destroy()
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of open) socket.destroy()
      }),
  }
}
