import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

const buildModule = join(import.meta.dirname, '..', 'console-build.mjs')
let root: string
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'herald-console-build-'))
  for (const folder of ['node_modules', 'apps/console/src', 'packages/client/src', 'packages/channels/src'])
    mkdirSync(join(root, folder), { recursive: true })
  write('package-lock.json', '{}')
  write('packages/client/src/index.ts', 'client')
  write('packages/channels/src/cards.ts', 'cards')
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
