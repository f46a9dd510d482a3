import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PostgresProblem } from './postgres-problem.ts'
import { answersToSignals, recordedPostmaster, serversOf } from './processes.ts'

/**
 * Ends a server that outlived the Herald that started it, so that the data directory is free. It is stopped and not
 * adopted: its settings, its port and its sessions belong to the dead.
 */
export async function endSurvivors(dataDir: string, log: (sentence: string) => void): Promise<void> {
  const postmaster = recordedPostmaster(dataDir)
  const survivors = serversOf(dataDir)
  if (survivors.length > 0) {
    log('stopping the Postgres that the last run left behind')
    // Backends without their postmaster end by themselves; asking them too does no harm.
    signal(postmaster !== undefined && survivors.includes(postmaster) ? [postmaster] : survivors, 'SIGINT')
    for (const [patience, next] of [
      [10_000, 'SIGQUIT'],
      [5_000, 'SIGKILL'],
      [2_000, undefined],
    ] as const) {
      if (await gone(dataDir, patience)) break
      if (!next)
        throw new PostgresProblem(
          `A Postgres process of an earlier run still uses ${dataDir} and does not end.`,
        )
      signal(serversOf(dataDir), next)
    }
  }
  // Postgres refuses to start while the recorded pid answers, even if it is a zombie or was reused by a stranger. Nobody
  // uses the data now, so the record says nothing; in every other case Postgres itself judges better.
  if (process.platform === 'linux' && postmaster !== undefined && answersToSignals(postmaster)) {
    rmSync(join(dataDir, 'postmaster.pid'), { force: true })
  }
}

function signal(pids: number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch {
      // It ended meanwhile.
    }
  }
}

async function gone(dataDir: string, milliseconds: number): Promise<boolean> {
  for (const end = performance.now() + milliseconds; performance.now() < end; await sleep(25)) {
    if (serversOf(dataDir).length === 0) return true
  }
  return serversOf(dataDir).length === 0
}
