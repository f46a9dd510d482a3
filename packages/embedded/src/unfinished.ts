import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { sleep } from '@herald/async'
import { processesIn, signal } from './processes.ts'
import { PostgresProblem } from './server-user.ts'

/** The start of the name of a data directory that initdb is filling. */
export const unfinishedPrefix = 'data.new'

/**
 * Removes what an interrupted creation left. initdb outlives a killed parent: it would add files to a folder that is being
 * removed, and create it again afterwards, so it is ended first.
 */
export async function removeUnfinished(folder: string): Promise<void> {
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder).filter((entry) => entry.startsWith(unfinishedPrefix))) {
    const dir = join(folder, name)
    await endProcessesIn(dir)
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function endProcessesIn(dir: string): Promise<void> {
  for (let round = 0; round < 400; round++) {
    const pids = processesIn(dir)
    if (pids.length === 0) return
    signal(pids, 'SIGKILL')
    await sleep(25)
  }
  throw new PostgresProblem(`A process of an earlier run still writes to ${dir} and cannot be stopped.`)
}
