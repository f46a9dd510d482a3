import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

type Entry = { optional?: boolean; resolved?: string; dependencies?: object; optionalDependencies?: object }
const root = join(import.meta.dirname, '../..')
const lockFile = readFileSync(join(root, 'package-lock.json'), 'utf8')
const packages: Record<string, Entry> = JSON.parse(lockFile).packages

/** Where Node would look for a package, from the folder of the one that wants it up to the root. */
function places(folder: string, name: string): string[] {
  const parts = folder.split('/')
  const folders = parts.map((_, i) => parts.slice(0, parts.length - i).join('/')).concat('')
  return folders
    .filter((at) => !at.endsWith('node_modules'))
    .map((at) => `${at === '' ? '' : `${at}/`}node_modules/${name}`)
}

describe('package-lock.json', () => {
  // npm ci refuses a lock file that lacks the packages of other platforms, and npm drops them silently when the
  // registry does not have that version for one of them.
  it('names every dependency of every required package, for all platforms', () => {
    const missing = Object.entries(packages)
      .filter(([, entry]) => !entry.optional)
      .flatMap(([folder, entry]) =>
        Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })
          .filter((name) => !places(folder, name).some((place) => place in packages))
          .map((name) => `${folder} wants ${name}`),
      )
    expect(missing).toEqual([])
  })

  it('agrees with package.json of every workspace', () => {
    const kinds = ['dependencies', 'devDependencies', 'optionalDependencies'] as const
    const pick = (source: Record<string, unknown> = {}) => kinds.map((kind) => source[kind] ?? {})
    for (const file of globSync('{package.json,{packages,apps}/*/package.json}', { cwd: root })) {
      const folder = dirname(file) === '.' ? '' : dirname(file)
      const wanted = pick(JSON.parse(readFileSync(join(root, file), 'utf8')))
      expect({ folder, locked: pick(packages[folder]) }).toEqual({ folder, locked: wanted })
    }
  })

  it('names no registry', () => {
    const addresses = Object.values(packages).filter((entry) => entry.resolved?.includes('://'))
    expect(addresses).toEqual([])
  })
})
