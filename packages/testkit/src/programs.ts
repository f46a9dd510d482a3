import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { describe } from '@jest/globals'

/** Where a program of this machine is; undefined when it is not installed. */
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

/** Whether the programs are installed. In CI their absence is an error, because it would hide what is not tested. */
export function hasProgram(...names: string[]): boolean {
  const missing = names.filter((name) => findProgram(name) === undefined)
  if (missing.length === 0) return true
  if (process.env.CI) throw new Error(`CI must have ${missing.join(' and ')} installed.`)
  process.stderr.write(
    `\n*** SKIPPED: ${missing.join(' and ')} not installed, so what needs it is not tested ***\n\n`,
  )
  return false
}

/**
 * `describe` for suites that need programs of the machine: `describeWith('redis-server')('…', () => …)`. Takes jest's global,
 * because the import exists inside jest alone and benchmarks use this package, too.
 */
export const describeWith = (...programs: string[]): typeof describe.skip => {
  const jest = globalThis as unknown as { describe: typeof describe }
  return hasProgram(...programs) ? jest.describe : jest.describe.skip
}
