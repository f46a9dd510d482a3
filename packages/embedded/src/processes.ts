import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/**
 * When a process began, in whatever unit the system counts: with the pid it names a process for good. Undefined when the
 * process does not live; a zombie does not.
 */
export function processStart(pid: number): string | undefined {
  if (process.platform === 'linux') {
    // The second field is the program's name in parentheses and may hold spaces; the state follows it.
    const fields = readText(`/proc/${pid}/stat`)?.split(') ').pop()?.split(' ')
    return fields === undefined || fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
  }
  if (process.platform === 'win32') return answersToSignals(pid) ? 'alive' : undefined
  try {
    const [state, ...start] = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
    })
      .trim()
      .split(/\s+/)
    return state?.startsWith('Z') ? undefined : start.join(' ')
  } catch {
    return undefined
  }
}

/** Whether the kernel knows the pid at all, be it a zombie or somebody else's process. */
export function answersToSignals(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The pid in postmaster.pid, dead or alive. */
export function recordedPostmaster(dataDir: string): number | undefined {
  const pid = Number.parseInt(readText(join(dataDir, 'postmaster.pid')) ?? '', 10)
  return pid > 0 ? pid : undefined
}

/**
 * Live server processes of a data directory, orphaned backends included. On Linux each of them has the directory as its
 * working directory, which tells them from a stranger with a reused pid; elsewhere only the recorded postmaster is known.
 */
export function serversOf(dataDir: string): number[] {
  if (process.platform !== 'linux') {
    const pid = recordedPostmaster(dataDir)
    return pid !== undefined && processStart(pid) !== undefined ? [pid] : []
  }
  const home = statSync(dataDir)
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => readText(`/proc/${pid}/comm`)?.trim() === 'postgres' && livesIn(pid, home))
    .map(Number)
}

function livesIn(pid: string, home: { dev: number; ino: number }): boolean {
  try {
    const cwd = statSync(`/proc/${pid}/cwd`)
    return cwd.dev === home.dev && cwd.ino === home.ino
  } catch {
    // A zombie has no working directory, and another user's process does not show it.
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
