import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the range from which Linux assigns ports to connections and to servers that ask for any port. */
const FIRST = 20_000
const COUNT = 12_000

/**
 * Returns a port of 127.0.0.1 that is currently not in use. Nothing else on the machine is assigned it before the caller's
 * server listens, which may be seconds later.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    const server = createServer()
    const listening = once(server, 'listening').then(
      () => true,
      () => false,
    )
    server.listen(port, '127.0.0.1')
    if (!(await listening)) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
