import { existsSync, readFileSync } from 'node:fs'
import { StartProblem } from './start-problem.ts'
import { writeFileWhole } from './write-file.ts'

/** What an earlier run kept, nothing when there is none. What cannot be read is never replaced; `holds` says what would be lost. */
export function readJsonFile<T>(path: string, holds: string, advice = ''): Partial<T> {
  if (!existsSync(path)) return {}
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new StartProblem(
      `The file ${path} holds ${holds} and cannot be read: ${(error as Error).message}${advice}.`,
    )
  }
}

export function writeJsonFile(path: string, content: object): void {
  writeFileWhole(path, `${JSON.stringify(content, null, 2)}\n`)
}
