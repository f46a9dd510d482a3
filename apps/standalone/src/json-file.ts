import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { StartProblem } from './data-directory.ts'

/**
 * The content that an earlier run wrote, or an empty object. A file that cannot be read is never replaced; `contents` names
 * what would be lost.
 */
export function readJsonFile<T>(path: string, contents: string, advice = ''): Partial<T> {
  if (!existsSync(path)) return {}
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new StartProblem(
      `The file ${path} contains ${contents} and cannot be read: ${(error as Error).message}${advice}.`,
    )
  }
}

/** Only the owner may read the file. Readers see the old content or the new one, even after a power failure. */
export function writeJsonFile(path: string, content: object): void {
  const work = `${path}.${process.pid}.new`
  const file = openSync(work, 'w', 0o600)
  try {
    writeSync(file, `${JSON.stringify(content, null, 2)}\n`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(work, path)
}
