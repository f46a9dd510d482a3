import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { describe } from '@jest/globals'

/** Returns the path of a program; undefined if it is not installed. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  return folders
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

/** Whether the programs are installed. Throws in CI, where a skipped suite would not be noticed. */
export function hasProgram(...names: string[]): boolean {
  const missing = names.filter((name) => findProgram(name) === undefined)
  if (missing.length === 0) return true
  if (process.env.CI) throw new Error(`CI must have ${missing.join(' and ')} installed.`)
  process.stderr.write(
    `\n*** SKIPPED: ${missing.join(' and ')} not installed; suites that need it are not run ***\n\n`,
  )
  return false
}

/**
 * `describe` for suites that need installed programs: `describeWith('redis-server')('…', () => …)`. Uses jest's global,
 * because `@jest/globals` cannot be imported outside jest, where benchmarks use this package.
 */
export const describeWith = (...programs: string[]): typeof describe.skip => {
  const jest = globalThis as unknown as { describe: typeof describe }
  return hasProgram(...programs) ? jest.describe : jest.describe.skip
}
