import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '@herald/db/store'
import { startPostgres } from '@herald/embedded'

export type DrillPostgres = {
  url: string
  /** Sends the signal and starts Postgres again on the same port. */
  crash(signal: 'SIGKILL' | 'SIGQUIT'): Promise<void>
  stop(): Promise<void>
}

/** Every process has a pool, and a second one if the queue is in Postgres. */
const CONNECTIONS = 400

/** Starts a durable Postgres that can be killed and restarted. */
export async function startDrillPostgres(): Promise<DrillPostgres> {
  const dir = mkdtempSync(join(tmpdir(), 'herald-chaos-'))
  const options = { dir, durable: true, settings: { max_connections: String(CONNECTIONS) } }
  let running = await startPostgres(options)
  let starting: Promise<void> = Promise.resolve()
  // Postgres runs detached, so that Ctrl-C does not end it first; an interrupted drill must stop it.
  const end = () => {
    process.kill(running.pid, 'SIGQUIT')
    rmSync(dir, { recursive: true, force: true })
  }
  process.once('exit', end)
  await migrate(running.url)
  return {
    url: running.url,
    crash(signal) {
      // A crash during the recovery from another one waits for its end.
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
