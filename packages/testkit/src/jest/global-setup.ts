import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startTestServer, type TestServer } from '../database-server.ts'

/**
 * One Postgres for the whole run, started when the first spec file asks for a database. Spec files run in other processes
 * and other realms, so they ask over HTTP; their requests also queue here, for a template can be cloned once at a time.
 */
export default async function setUp(): Promise<void> {
  let server: Promise<TestServer> | undefined
  let turn: Promise<unknown> = Promise.resolve()
  const concierge = createServer((request, response) => {
    const migrated = !request.url?.includes('migrated=false')
    server ??= startTestServer()
    const created = Promise.all([server, turn.catch(() => {})]).then(([postgres]) =>
      postgres.createDatabase({ migrated }),
    )
    turn = created
    created.then(
      (url) => response.end(url),
      (error) => response.writeHead(500).end(String(error)),
    )
  })
  // A worker whose loop was busy would ask on a connection that was given up meanwhile; so it is the one who gives up.
  concierge.keepAliveTimeout = 0
  await new Promise<void>((resolve) => concierge.listen(0, '127.0.0.1', resolve))
  process.env.TESTKIT_CONCIERGE = `http://127.0.0.1:${(concierge.address() as AddressInfo).port}`
  const close = async () => {
    concierge.close()
    concierge.closeAllConnections()
    await (await server)?.stop()
  }
  // jest dies of a signal without its teardown, and Postgres would run on.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.once(signal, () => void close().finally(() => process.exit(1)))
  Object.assign(globalThis, { closeTestkit: close })
}
