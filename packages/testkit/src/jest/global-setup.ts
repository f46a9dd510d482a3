import { createServer } from 'node:http'
import { type PreparedData, prepareDataDirectory } from '../data-directory.ts'
import { startTestServer, type TestServer } from '../database-server.ts'
import { portsInTurn } from '../free-port.ts'
import { listen } from '../servers.ts'

/**
 * One Postgres, one prepared data directory and one sequence of ports for the whole run; the first two are made when a spec file requests them.
 * Spec files run in other processes, so they request them over HTTP. Databases are made one at a time, because a template cannot be cloned
 * concurrently.
 */
export default async function setUp(): Promise<void> {
  let server: Promise<TestServer> | undefined
  let turn: Promise<unknown> = Promise.resolve()
  let prepared: Promise<PreparedData> | undefined
  const nextPort = portsInTurn()
  const resources = createServer((request, response) => {
    const answer = (text: Promise<string>) =>
      text.then(
        (content) => response.end(content),
        (error) => response.writeHead(500).end(String(error)),
      )
    if (request.url === '/port') return void response.end(String(nextPort()))
    if (request.url === '/data-directory') {
      prepared ??= prepareDataDirectory()
      return void answer(prepared.then(({ dir }) => dir))
    }
    const migrated = !request.url?.includes('migrated=false')
    server ??= startTestServer()
    const created = Promise.all([server, turn.catch(() => {})]).then(([postgres]) =>
      postgres.createDatabase({ migrated }),
    )
    turn = created
    void answer(created)
  })
  // Never close idle connections here: a busy jest worker could send its next request on one that has just been closed.
  resources.keepAliveTimeout = 0
  process.env.TESTKIT_URL = `http://127.0.0.1:${await listen(resources)}`
  const close = async () => {
    resources.close()
    resources.closeAllConnections()
    ;(await prepared?.catch(() => undefined))?.remove()
    await (await server)?.stop()
  }
  // jest does not call the teardown after a signal, and Postgres would keep running.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.once(signal, () => void close().finally(() => process.exit(1)))
  Object.assign(globalThis, { closeTestkit: close })
}
