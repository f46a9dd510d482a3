import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '@herald/db/store'
import { startPostgres } from '@herald/embedded'

export type DrillPostgres = {
  url: string
  /** Ends it as given and starts it again on the same port. */
  crash(signal: 'SIGKILL' | 'SIGQUIT'): Promise<void>
  stop(): Promise<void>
}

/** Every process has a pool, and on the Postgres queue a second one. */
const CONNECTIONS = 400

/** A Postgres that writes everything down before it answers, can be killed, and comes back. */
export async function startDrillPostgres(): Promise<DrillPostgres> {
  const dir = mkdtempSync(join(tmpdir(), 'herald-chaos-'))
  const options = { dir, durable: true, settings: { max_connections: String(CONNECTIONS) } }
  let running = await startPostgres(options)
  let starting: Promise<void> = Promise.resolve()
  // It runs detached from us, so that a Ctrl-C does not end it first; a drill that is broken off must not leave it behind.
  const end = () => {
    process.kill(running.pid, 'SIGQUIT')
    rmSync(dir, { recursive: true, force: true })
  }
  process.once('exit', end)
  await migrate(running.url)
  return {
    url: running.url,
    crash(signal) {
      // One at a time: a crash during the recovery from another waits for it.
      starting = starting.then(async () => {
        process.kill(running.pid, signal)
        running = await startPostgres({ ...options, port: running.port })
      })
      return starting
    },
    async stop() {
      await starting.catch(() => {})
      process.off('exit', end)
      await running.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
