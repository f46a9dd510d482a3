import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startTestServer, type TestServer } from '../database-server.ts'

/**
 * One Postgres for the whole run, started when the first spec file requests a database. Spec files run in other processes, so
 * they request it over HTTP. Requests are handled one at a time, because a template cannot be cloned concurrently.
 */
export default async function setUp(): Promise<void> {
  let server: Promise<TestServer> | undefined
  let turn: Promise<unknown> = Promise.resolve()
  const databases = createServer((request, response) => {
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
  // Never close idle connections here: a busy jest worker could send its next request on one that has just been closed.
  databases.keepAliveTimeout = 0
  await new Promise<void>((resolve) => databases.listen(0, '127.0.0.1', resolve))
  process.env.TESTKIT_URL = `http://127.0.0.1:${(databases.address() as AddressInfo).port}`
  const close = async () => {
    databases.close()
    databases.closeAllConnections()
    await (await server)?.stop()
  }
  // jest does not call the teardown after a signal, and Postgres would keep running.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.once(signal, () => void close().finally(() => process.exit(1)))
  Object.assign(globalThis, { closeTestkit: close })
}
