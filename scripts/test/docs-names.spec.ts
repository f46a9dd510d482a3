import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { openApiDocument } from '@herald/api'
import { settingsDocument } from '@herald/settings'
import { metricNames } from '@herald/telemetry'
import { describe, expect, it } from '@jest/globals'

const root = join(import.meta.dirname, '../..')
const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: root }).map((path) => ({
  path: path.split(sep).join('/'),
  text: readFileSync(join(root, path), 'utf8'),
}))

/** Names that belong to the deployment: variables of a Caddyfile, secrets of compose. */
const deployed = new Set(
  ['docker-compose.yml', ...globSync('deploy/**/{Caddyfile,*.conf,*.sh,env.example}', { cwd: root })].flatMap(
    (path) => readFileSync(join(root, path), 'utf8').match(/\w+/g) ?? [],
  ),
)
/** Files that are created at run time. */
const created = /^(bench\/latest\.json|deploy\/secrets\/.*)$/

/** Every match in every page for which `isKnown` is false, with its page. */
function unknown(pattern: RegExp, isKnown: (match: RegExpMatchArray) => boolean): string[] {
  return pages.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].filter((match) => !isKnown(match)).map(([name]) => `${path}: ${name}`),
  )
}

describe('the documents mention only existing', () => {
  it('settings', () => {
    const names = new Set(settingsDocument().match(/\bHERALD_[A-Z_]+/g))
    // A name may end in _FILE; one with a … means several settings.
    const known = (name: string) =>
      names.has(name) || names.has(name.replace(/_FILE$/, '')) || deployed.has(name)
    expect(unknown(/\bHERALD_[A-Z_]+(?![A-Z_…])/g, ([name]) => known(name))).toEqual([])
  })

  it('API calls', () => {
    const { paths } = openApiDocument()
    const calls = new Set(
      Object.entries(paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      ),
    )
    const own = /^(POST \/callback\/|(GET|POST|DELETE) \/console\b)/
    expect(
      unknown(/\b(GET|POST|PUT|DELETE) \/[\w/]+\w/g, ([call]) => calls.has(call) || own.test(call)),
    ).toEqual([])
  })

  it('addresses in examples', () => {
    const { paths } = openApiDocument()
    const own = '/native/demo'
    expect(unknown(/\$BASE_URL(\/[\w/]+)/g, ([, path]) => path! in paths || path === own)).toEqual([])
  })

  it('metrics', () => {
    const names = new Set(metricNames)
    const base = (name: string) => name.replace(/_(bucket|sum|count)$/, '')
    expect(
      unknown(
        /\bherald_[a-z_]+\b(?!\.)/g,
        ([name]) => names.has(name) || names.has(base(name)) || deployed.has(name),
      ),
    ).toEqual([])
  })

  it('npm scripts', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expect(
      unknown(/\bnpm run (?:-s |--silent )?([\w:-]+)(?! --workspace)/g, ([, name]) => name! in scripts),
    ).toEqual([])
  })

  it('files and folders', () => {
    const path = /`((?:apps|packages|docs|deploy|bench|scripts|prisma)\/[\w./-]+)`/g
    // A spec may be mentioned without its extension.
    const exists = (name: string) =>
      ['', '.spec.ts', '.e2e.ts', '.ts'].some((extension) => existsSync(join(root, name + extension)))
    expect(unknown(path, ([, name]) => /acme/.test(name!) || created.test(name!) || exists(name!))).toEqual(
      [],
    )
  })
})
