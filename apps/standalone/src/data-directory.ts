import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { processStart } from '@herald/embedded'
import { StartProblem } from './start-problem.ts'
import { writeFileWhole } from './write-file.ts'

export type DataDirectory = {
  /** Tells the next Herald that waiting is worth while. */
  markStopping(): void
  release(): void
}

type Holder = { pid: number; started: string | undefined; stopping?: true }

/** A supervisor may end and start us in one breath, before the last word of its SIGTERM has reached the last run. */
const graceMs = 1500
/** A drain takes 30 seconds at most. */
const stoppingMs = 40_000

/** Creates the data directory when missing and takes it for this process, after one that is just stopping. */
export async function takeDataDirectory(
  dir: string,
  say: (sentence: string) => void = () => {},
): Promise<DataDirectory> {
  const lock = join(dir, 'herald.lock')
  const mine = `${lock}.${process.pid}`
  const me: Holder = { pid: process.pid, started: processStart(process.pid) }
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    writeFileSync(mine, JSON.stringify(me))
  } catch (error) {
    throw new StartProblem(
      `The data directory ${dir} cannot be written (${(error as NodeJS.ErrnoException).code}).`,
    )
  }
  try {
    await takeLock(dir, lock, mine, say)
  } finally {
    rmSync(mine, { force: true })
  }
  const isMine = () => livingHolder(readOrEmpty(lock))?.pid === process.pid
  return {
    markStopping() {
      if (isMine()) writeFileWhole(lock, JSON.stringify({ ...me, stopping: true }))
    },
    release() {
      if (isMine()) rmSync(lock, { force: true })
    },
  }
}

/** A link appears with its content, so nobody ever sees a lock that does not name its holder. */
async function takeLock(
  dir: string,
  lock: string,
  mine: string,
  say: (sentence: string) => void,
): Promise<void> {
  const began = performance.now()
  for (let told = false; ; ) {
    try {
      linkSync(mine, lock)
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const text = readOrEmpty(lock)
    const holder = livingHolder(text)
    if (!holder) {
      removeStale(lock, text)
      continue
    }
    if (performance.now() - began > (holder.stopping ? stoppingMs : graceMs)) {
      throw new StartProblem(`The data directory ${dir} is in use by another Herald, process ${holder.pid}.`)
    }
    if (holder.stopping && !told) say(`waiting for process ${holder.pid}, which is stopping`)
    told ||= Boolean(holder.stopping)
    await sleep(50)
  }
}

/** The start time tells the holder from a stranger who got its process id after a crash. */
function livingHolder(text: string): Holder | undefined {
  try {
    const holder: Holder = JSON.parse(text)
    return processStart(holder.pid) === holder.started ? holder : undefined
  } catch {
    return undefined
  }
}

/** Another Herald may have replaced the stale lock meanwhile: what was taken by mistake is put back. */
function removeStale(lock: string, staleText: string): void {
  const grave = `${lock}.stale.${process.pid}`
  try {
    renameSync(lock, grave)
    if (readOrEmpty(grave) !== staleText) linkSync(grave, lock)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'EEXIST') throw error
  } finally {
    rmSync(grave, { force: true })
  }
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
