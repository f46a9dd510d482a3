import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { sleep } from '@herald/async'
import { isReused, recordedPostmaster, serversOf, signal } from './processes.ts'
import { PostgresProblem } from './server-user.ts'

/**
 * Stops a server that outlived the process that started it, so that the data directory is free. It is not reused, because
 * its settings, port and sessions are those of the ended process.
 */
export async function stopOrphans(dataDir: string, log: (sentence: string) => void): Promise<void> {
  const postmaster = recordedPostmaster(dataDir)
  const orphans = serversOf(dataDir)
  if (orphans.length > 0) {
    log('stopping the Postgres of an earlier run')
    // Backends without a postmaster end by themselves; a signal to them does no harm.
    signal(postmaster !== undefined && orphans.includes(postmaster) ? [postmaster] : orphans, 'SIGINT')
    for (const [waitMs, next] of [
      [10_000, 'SIGQUIT'],
      [5_000, 'SIGKILL'],
      [2_000, undefined],
    ] as const) {
      if (await areGone(dataDir, waitMs)) break
      if (!next)
        throw new PostgresProblem(
          `A Postgres process of an earlier run still uses ${dataDir} and cannot be stopped.`,
        )
      signal(serversOf(dataDir), next)
    }
  }
  // Postgres refuses to start while the recorded pid exists, even as a zombie or as another program with a reused pid. No
  // server uses the data at this point, so the file is stale. A pid that does not exist is handled by Postgres itself.
  if (postmaster !== undefined && isReused(postmaster)) {
    rmSync(join(dataDir, 'postmaster.pid'), { force: true })
  }
}

async function areGone(dataDir: string, ms: number): Promise<boolean> {
  for (const end = performance.now() + ms; performance.now() < end; await sleep(25)) {
    if (serversOf(dataDir).length === 0) return true
  }
  return serversOf(dataDir).length === 0
}
