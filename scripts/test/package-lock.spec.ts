import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

type Entry = {
  optional?: boolean
  resolved?: string
  integrity?: string
  dependencies?: object
  optionalDependencies?: object
}
const root = join(import.meta.dirname, '../..')
const lockFile = readFileSync(join(root, 'package-lock.json'), 'utf8')
const packages: Record<string, Entry> = JSON.parse(lockFile).packages

/** The folders in which Node looks for a package, from the folder of its dependent up to the root. */
function candidates(folder: string, name: string): string[] {
  const parts = folder.split('/')
  const folders = parts.map((_, i) => parts.slice(0, parts.length - i).join('/')).concat('')
  return folders
    .filter((at) => !at.endsWith('node_modules'))
    .map((at) => `${at === '' ? '' : `${at}/`}node_modules/${name}`)
}

describe('package-lock.json', () => {
  // npm ci refuses a lock file without the packages of other platforms, and npm drops them silently when the registry lacks
  // that version for one of them.
  it('contains every dependency of every required package, for all platforms', () => {
    const missing = Object.entries(packages)
      .filter(([, entry]) => !entry.optional)
      .flatMap(([folder, entry]) =>
        Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })
          .filter((name) => !candidates(folder, name).some((path) => path in packages))
          .map((name) => `${folder} needs ${name}`),
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

  // An install script that fetched a binary would bypass the hashes.
  it('has a hash for every executable that npm start runs, on every platform', () => {
    const install = readFileSync(join(root, 'scripts/install.mjs'), 'utf8')
    const nodes = [...install.matchAll(/^ {2}'\w+-\w+': '(node-[\w-]+)',$/gm)].map(([, name]) => name!)
    expect(nodes).toHaveLength(5)
    const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expect(Object.keys(optionalDependencies).sort()).toEqual(nodes.sort())
    const embedded = JSON.parse(readFileSync(join(root, 'packages/embedded/package.json'), 'utf8'))
    const postgres = Object.keys(embedded.optionalDependencies)
    expect(postgres).toHaveLength(5)
    for (const name of [...nodes, ...postgres])
      expect([name, packages[`node_modules/${name}`]]).toEqual([
        name,
        expect.objectContaining({ integrity: expect.stringMatching(/^sha512-/) }),
      ])
    expect(packages).not.toHaveProperty(['node_modules/node'])
  })

  it('contains no registry URL', () => {
    const addresses = Object.values(packages).filter((entry) => entry.resolved?.includes('://'))
    expect(addresses).toEqual([])
  })
})
