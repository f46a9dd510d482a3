import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the range from which Linux assigns ports to connections and to servers that ask for any port. */
const FIRST = 20_000
const COUNT = 12_000

/** Every port of the range in turn. */
export function portsInTurn(): () => number {
  let next = Math.floor(Math.random() * COUNT)
  return () => FIRST + (next++ % COUNT)
}

const ownTurn = portsInTurn()

/** Spec files run in several processes, which must not try the same port. */
async function nextPort(): Promise<number> {
  const run = process.env.TESTKIT_URL
  if (!run) return ownTurn()
  return Number(await (await fetch(`${run}/port`, { method: 'POST' })).text())
}

/**
 * Returns a port of 127.0.0.1 that is currently not in use. Nothing else on the machine is assigned it before the caller's
 * server listens, which may be seconds later.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = await nextPort()
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
