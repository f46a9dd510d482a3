import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { readSource, resolveRelative } from '../fences/source-files.ts'

const buildModule = join(import.meta.dirname, '..', 'console-build.mjs')
let root: string
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'herald-console-build-'))
  for (const folder of [
    'node_modules',
    'apps/console/src',
    'packages/client/src',
    'packages/channels/src/oppo',
    'packages/channels/src/shared',
  ])
    mkdirSync(join(root, folder), { recursive: true })
  write('package-lock.json', '{}')
  write('packages/client/src/index.ts', 'client')
  for (const name of ['cards', 'reason-kinds', 'shared/texts'])
    write(`packages/channels/src/${name}.ts`, name)
  for (const name of ['card', 'card-notes', 'payload']) write(`packages/channels/src/oppo/${name}.ts`, name)
  write('apps/console/package.json', '{"name":"console","scripts":{"build":"node build.mjs"}}')
  // Replaces Vite: takes the same options and copies a source file.
  write(
    'apps/console/build.mjs',
    `import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
     const folder = process.argv[process.argv.indexOf('--outDir') + 1]
     mkdirSync(folder, { recursive: true })
     copyFileSync('src/page.html', folder + '/index.html')
     if (readFileSync('src/page.html', 'utf8') === 'broken') { console.error('a syntax error'); process.exit(3) }`,
  )
})
afterAll(() => rmSync(root, { recursive: true }))

const write = (path: string, text: string) => writeFileSync(join(root, path), text)
const served = () => readFileSync(join(root, 'apps/console/dist/index.html'), 'utf8')

/** Builds if needed, in its own process, like the bootstrap. */
async function prepare(optional = true): Promise<{ code: number; said: string }> {
  const code = `import { buildConsole, isConsoleBuilt } from ${JSON.stringify(buildModule)}
    const root = process.cwd()
    if (!isConsoleBuilt(root)) await buildConsole(root, { addOwner() {} }, { optional: ${optional} })
    console.error(isConsoleBuilt(root) ? 'up to date' : 'outdated')`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], { cwd: root })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    said += chunk
  })
  const [exit] = await once(child, 'close')
  return { code: exit, said }
}

const repository = join(import.meta.dirname, '../..')
const importsOf = (path: string) =>
  readSource(path, readFileSync(join(repository, path), 'utf8')).imports.filter(({ typeOnly }) => !typeOnly)

/** What the console, and the packages in it, import of the channels, and what those files import in turn. */
function channelFilesOfConsole(): string[] {
  const manifest = 'packages/channels/package.json'
  const { exports } = JSON.parse(readFileSync(join(repository, manifest), 'utf8')) as {
    exports: Record<string, string>
  }
  const found = new Set<string>()
  const add = (path: string) => {
    if (found.has(path)) return
    found.add(path)
    for (const { specifier } of importsOf(path)) {
      const next = resolveRelative(path, specifier)
      if (next !== undefined) add(next)
    }
  }
  const sources = globSync('{apps/console,packages/{client,domain}}/src/**/*.{ts,tsx}', { cwd: repository })
  for (const { specifier } of sources.flatMap(importsOf))
    if (/^@herald\/channels(\/|$)/.test(specifier))
      add(resolveRelative(manifest, exports[specifier.replace('@herald/channels', '.')]!)!)
  return [...found]
}

describe('the build of the console', () => {
  it('runs once', async () => {
    write('apps/console/src/page.html', 'one')
    expect(await prepare()).toEqual({
      code: 0,
      said: expect.stringMatching(
        /^herald: building the web console …\n(.*\n)?.*: done in \d+ s\nup to date\n$/,
      ),
    })
    expect(served()).toBe('one')
    expect(await prepare()).toEqual({ code: 0, said: 'up to date\n' })
  })

  it.each([
    'apps/console/src/page.html',
    'packages/client/src/index.ts',
    'packages/channels/src/cards.ts',
    'packages/channels/src/reason-kinds.ts',
    'packages/channels/src/shared/texts.ts',
    'packages/channels/src/oppo/card.ts',
    'packages/channels/src/oppo/card-notes.ts',
    'package-lock.json',
  ])('runs again when %s has changed', async (path) => {
    write(path, 'two')
    expect((await prepare()).said).toContain('building the web console')
    expect(served()).toBe('two')
  })

  it('ignores specs', async () => {
    mkdirSync(join(root, 'apps/console/test'))
    write('apps/console/test/page.spec.ts', 'spec')
    expect((await prepare()).said).toBe('up to date\n')
  })

  it('ignores the adapters of vendors', async () => {
    write('packages/channels/src/oppo/payload.ts', 'two')
    expect((await prepare()).said).toBe('up to date\n')
  })

  it('depends on exactly the files of the channels that the console contains', async () => {
    const { stampedFiles } = (await import(pathToFileURL(buildModule).href)) as {
      stampedFiles(root: string): string[]
    }
    const stamped = stampedFiles(repository).filter((path) => path.startsWith('packages/channels/'))
    expect(stamped.sort()).toEqual(channelFilesOfConsole().sort())
  })

  it('that fails is reported, keeps the old console and lets Herald start', async () => {
    write('apps/console/src/page.html', 'broken')
    const { code, said } = await prepare()
    expect(code).toBe(0)
    expect(said).toContain('a syntax error')
    expect(said).toContain('building the web console failed (exit code 3); continuing without it')
    expect(said).toContain('outdated')
    expect(served()).toBe('two')
  })

  it('that fails and is required exits with 1', async () => {
    expect((await prepare(false)).code).toBe(1)
    expect(existsSync(join(root, 'apps/console/dist/index.html'))).toBe(true)
  })
})
