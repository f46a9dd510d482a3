import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { answersToSignals } from './process-lock.mjs'
import { dataDirSetting } from './server-options.ts'

/** The pid in postmaster.pid, whether or not that process still runs. */
export function recordedPostmaster(dataDir: string): number | undefined {
  const pid = Number.parseInt(readText(join(dataDir, 'postmaster.pid')) ?? '', 10)
  return pid > 0 ? pid : undefined
}

/**
 * Running server processes of a data directory, including orphaned backends. On Linux each has the directory as its working
 * directory, so a reused pid is not mistaken for one of them; on other systems only the recorded postmaster is found, if its
 * command line names the directory.
 */
export function serversOf(dataDir: string): number[] {
  if (process.platform !== 'linux') {
    const pid = recordedPostmaster(dataDir)
    return pid !== undefined && isServerOf(dataDir, commandOf(pid)) ? [pid] : []
  }
  return processesIn(dataDir).filter((pid) => readText(`/proc/${pid}/comm`)?.trim() === 'postgres')
}

/** Whether this command line is that of our server of the data directory. Pure. */
function isServerOf(dataDir: string, command: string | undefined): boolean {
  // With the space after it, because the name of another directory may begin with this one.
  return command !== undefined && `${command} `.includes(` ${dataDirSetting(dataDir)} `)
}

/**
 * Whether the recorded pid exists although no server uses the data, so that the file is stale. Elsewhere than on Linux the directory of a
 * server may be written in another way, so a file that names any Postgres is left to Postgres, which then refuses to start.
 */
export function isReused(pid: number): boolean {
  if (process.platform === 'linux') return answersToSignals(pid)
  const command = commandOf(pid)
  return command !== undefined && !command.includes('postgres')
}

/** The command line of a process; undefined if there is none, and on Windows, which has no `ps`. */
function commandOf(pid: number): string | undefined {
  if (process.platform === 'win32') return undefined
  try {
    // `ww`: not cut at the width of the terminal.
    const args = ['-ww', '-o', 'command=', '-p', String(pid)]
    return execFileSync('ps', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trimEnd()
  } catch {
    return undefined
  }
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
