import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Card, cards } from '@herald/channels/cards'
import { describeWith } from '@herald/testkit'
import { describe, expect, it } from '@jest/globals'
import { read, root } from './deployed-programs.ts'

const secrets = [
  '.env',
  '.env.production',
  'apps/api/.env',
  'deploy/secrets/herald_master_key',
  'deploy/kubernetes/overlays/mine/secret.yaml',
  '.herald/secrets.json',
]

/** The rules of a .dockerignore: the last one that matches the path or one of its folders decides. */
const rules = read('.dockerignore')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const pattern = line
      .replace(/^!/, '')
      .replaceAll(/[.+^$()|]/g, '\\$&')
      .replaceAll(/\*\*\/|\*/g, (stars) => (stars === '*' ? '[^/]*' : '(?:.*/)?'))
    return { includes: line.startsWith('!'), expression: new RegExp(`^${pattern}(?:/.*)?$`) }
  })
const isSent = (path: string) => rules.findLast(({ expression }) => expression.test(path))?.includes ?? true

describe('the build context of the image', () => {
  it.each([
    ...secrets,
    // Files that the guides tell people to create.
    'herald.dump',
    'herald-backup.tar.gz',
    'AuthKey.p8',
    'secret.txt',
    'service-account.json',
    'devices.ndjson',
    // Not needed by any program.
    '.git/config',
    'bench/main.ts',
    'docs/deployment.md',
    'apps/api/test/harness.ts',
    'packages/http2/test/fixtures/client.key',
    'scripts/test/lock.spec.ts',
    'node_modules/node/bin/node',
    'apps/console/dist/index.html',
  ])('does not contain %s', (path) => {
    expect(isSent(path)).toBe(false)
  })

  it('contains the programs and everything that their build reads', () => {
    const needed = [
      ...globSync('{apps,packages}/*/{package.json,src/**/*.ts}', { cwd: root }),
      ...globSync('prisma/**/*.{sql,prisma}', { cwd: root }),
      'apps/console/index.html',
      'apps/console/tsconfig.json',
      'deploy/healthcheck.mjs',
      'package-lock.json',
      'package.json',
      'scripts/bootstrap.mjs',
      'tsconfig.json',
    ].filter((path) => !path.startsWith('packages/db/src/generated/'))
    expect(needed.length).toBeGreaterThan(500)
    expect(needed.filter((path) => !isSent(path))).toEqual([])
  })
})

describe('the image', () => {
  it('has no packages that only tests, comparisons, the built console or the standalone’s Postgres need', () => {
    const [prune] = /^RUN npm pkg delete(?:.*\\\n)*.*$/m.exec(read('deploy/Dockerfile')) ?? []
    const libraries = cards.flatMap(({ referenceLibrary }: Card) => referenceLibrary ?? [])
    expect(libraries.length).toBeGreaterThan(0)
    const { dependencies } = JSON.parse(read('packages/channels/package.json'))
    for (const library of libraries) {
      expect(dependencies).toHaveProperty(library)
      expect(prune).toContain(`dependencies.${library}`)
    }
    expect(prune).toContain('--workspace apps/console dependencies ')
    expect(prune).toContain('npm prune --omit=dev --omit=optional')
    for (const path of ['package.json', 'packages/embedded/package.json'])
      expect(Object.keys(JSON.parse(read(path)).optionalDependencies).length).toBeGreaterThan(0)
  })
})

describeWith('git')('.gitignore', () => {
  it('excludes secrets, but not the example overlay', () => {
    const folder = mkdtempSync(join(tmpdir(), 'herald-ignored-'))
    const git = (args: string[], input = '') =>
      spawnSync('git', args, { cwd: folder, input, encoding: 'utf8' }).stdout.split('\n')
    try {
      git(['init'])
      writeFileSync(join(folder, '.gitignore'), read('.gitignore'))
      const tracked = ['deploy/kubernetes/overlays/example/secret.yaml', 'deploy/env.example']
      const ignored = git(['check-ignore', '--stdin'], [...secrets, ...tracked].join('\n'))
      expect(ignored.filter(Boolean)).toEqual(secrets)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
