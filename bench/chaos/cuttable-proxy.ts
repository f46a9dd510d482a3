import { connect, createServer, type Socket } from 'node:net'

/** A TCP proxy between one process and a server, which can drop all packets as a lost host or network does. */
export type CuttableProxy = {
  port: number
  /** Nothing passes any more, in either direction, and neither side learns that the other has closed. */
  cut(): void
  /** Connections that both sides still have go on; the others are reset. New ones that waited are made. */
  restore(): void
  close(): Promise<void>
}

/** `server` is undefined while a connection that was begun during a cut waits for its end. */
type Link = { client: Socket; server?: Socket }

/**
 * A cut stops reading, so that the kernels keep what both sides send, as they do with packets that are not acknowledged.
 * `patienceMs` is the time after which the server gives up a silent connection by its TCP keepalives; the proxy's kernel answers
 * them, so the proxy has to do it.
 */
export async function startCuttableProxy(target: number, patienceMs?: number): Promise<CuttableProxy> {
  const links = new Set<Link>()
  let isCut = false
  let patience: NodeJS.Timeout | undefined
  const proxy = createServer({ pauseOnConnect: true, noDelay: true }, (client) => {
    const link: Link = { client }
    links.add(link)
    follow(link, client)
    if (!isCut) join(link)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))

  function follow(link: Link, socket: Socket): void {
    socket.on('error', () => {})
    socket.on('close', (hadError) => {
      if (isCut) return
      links.delete(link)
      const other = socket === link.client ? link.server : link.client
      if (hadError) other?.resetAndDestroy()
      else other?.end()
    })
  }

  function join(link: Link): void {
    if (!link.server) {
      link.server = connect({ port: target, host: '127.0.0.1', noDelay: true })
      follow(link, link.server)
    }
    link.client.pipe(link.server)
    link.server.pipe(link.client)
  }

  function part({ client, server }: Link): void {
    client.unpipe().pause()
    server?.unpipe().pause()
  }

  return {
    port: (proxy.address() as { port: number }).port,
    cut() {
      isCut = true
      for (const link of links) part(link)
      clearTimeout(patience)
      const open = [...links]
      if (patienceMs !== undefined)
        patience = setTimeout(() => {
          for (const { server } of open) server?.resetAndDestroy()
        }, patienceMs)
    },
    restore() {
      isCut = false
      clearTimeout(patience)
      for (const link of links) {
        const { client, server } = link
        if (!client.destroyed && !server?.destroyed) {
          join(link)
          continue
        }
        links.delete(link)
        client.resetAndDestroy()
        server?.resetAndDestroy()
      }
    },
    async close() {
      clearTimeout(patience)
      for (const { client, server } of links) {
        client.destroy()
        server?.destroy()
      }
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}
