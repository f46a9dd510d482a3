import { join } from 'node:path'
import { sleep } from '@herald/async'
import { type Postgres, startPostgres } from '@herald/embedded'
import type { Logger } from '@herald/telemetry'

export type OwnPostgres = { url: string; isUp(): boolean; stop(): Promise<void> }

/**
 * Runs the embedded Postgres of this data directory and restarts it on the same port when it ends. `signal` ends the first start. It does not
 * end a restart, which services need in order to finish their work; `stop` does.
 */
export async function keepPostgres(
  dataDir: string,
  log: Logger,
  say: (sentence: string) => void,
  signal: AbortSignal,
): Promise<OwnPostgres> {
  const dir = join(dataDir, 'postgres')
  let current: Postgres | undefined
  const stopping = new AbortController()
  let restarting: Promise<void> | undefined

  const start = async (given: { port?: number; signal: AbortSignal }) => {
    current = await startPostgres({ dir, log: say, onExit, ...given })
  }
  const onExit = (sentence: string) => {
    const port = current?.port
    current = undefined
    if (stopping.signal.aborted) return
    log.error(`${sentence}; restarting it`)
    restarting = restart(port)
  }
  const restart = async (port: number | undefined) => {
    while (!stopping.signal.aborted && !current) {
      try {
        await start({ ...(port && { port }), signal: stopping.signal })
        log.info('Postgres has been restarted')
      } catch (error) {
        if (stopping.signal.aborted) return
        log.error({ err: error }, 'Postgres could not be restarted; trying again')
        await sleep(1000, stopping.signal)
      }
    }
  }

  await start({ signal })
  return {
    url: current!.url,
    isUp: () => current !== undefined,
    async stop() {
      // The recovery after a crash may take minutes.
      stopping.abort()
      await restarting
      await current?.stop()
    },
  }
}
