import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { processStart } from './process-lock.mjs'

/** The pid in postmaster.pid, whether or not that process still runs. */
export function recordedPostmaster(dataDir: string): number | undefined {
  const pid = Number.parseInt(readText(join(dataDir, 'postmaster.pid')) ?? '', 10)
  return pid > 0 ? pid : undefined
}

/**
 * Running server processes of a data directory, including orphaned backends. On Linux each has the directory as its working
 * directory, so a reused pid is not mistaken for one of them; on other systems only the recorded postmaster is found.
 */
export function serversOf(dataDir: string): number[] {
  if (process.platform !== 'linux') {
    const pid = recordedPostmaster(dataDir)
    return pid !== undefined && processStart(pid) !== undefined ? [pid] : []
  }
  return processesIn(dataDir).filter((pid) => readText(`/proc/${pid}/comm`)?.trim() === 'postgres')
}

/** Running processes that have the directory as their working directory; on systems other than Linux none is found. */
export function processesIn(dir: string): number[] {
  if (process.platform !== 'linux') return []
  const home = statSync(dir)
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && worksIn(name, home))
    .map(Number)
}

export function signal(pids: number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch {
      // It has ended already.
    }
  }
}

function worksIn(pid: string, home: { dev: number; ino: number }): boolean {
  try {
    const cwd = statSync(`/proc/${pid}/cwd`)
    return cwd.dev === home.dev && cwd.ino === home.ino
  } catch {
    // A zombie has no working directory, and that of another user's process cannot be read.
    return false
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
