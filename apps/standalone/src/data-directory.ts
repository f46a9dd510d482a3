import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { processStart } from '@herald/embedded'
import { StartProblem } from './start-problem.ts'

/** Creates the data directory when missing and takes it for this process; answers how to give it back. */
export function takeDataDirectory(dir: string): () => void {
  const lock = join(dir, 'herald.lock')
  const mine = `${lock}.${process.pid}`
  const text = JSON.stringify({ pid: process.pid, started: processStart(process.pid) })
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    writeFileSync(mine, text)
  } catch (error) {
    throw new StartProblem(
      `The data directory ${dir} cannot be written (${(error as NodeJS.ErrnoException).code}).`,
    )
  }
  try {
    takeLock(dir, lock, mine)
  } finally {
    rmSync(mine, { force: true })
  }
  return () => {
    if (readOrEmpty(lock) === text) rmSync(lock, { force: true })
  }
}

/** A link appears with its content, so nobody ever sees a lock that does not name its holder. */
function takeLock(dir: string, lock: string, mine: string): void {
  for (;;) {
    try {
      linkSync(mine, lock)
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const text = readOrEmpty(lock)
    const holder = livingHolder(text)
    if (holder) {
      throw new StartProblem(`The data directory ${dir} is in use by another Herald, process ${holder}.`)
    }
    removeStale(lock, text)
  }
}

/** The start time tells the holder from a stranger who got its process id after a crash. */
function livingHolder(text: string): number | undefined {
  try {
    const { pid, started } = JSON.parse(text)
    return processStart(pid) === started ? pid : undefined
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
