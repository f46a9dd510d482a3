import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readSettings } from '@herald/settings'
import { describe, expect, it } from '@jest/globals'
import { type Access, type AccessFlags, findAccess } from '../src/access.ts'
import { locate } from '../src/shell.ts'

const demo = {
  base_url: 'http://127.0.0.1:7100',
  operator_key: 'demo-operator',
  app_id: 'demo-app',
  app_secret: 'demo-secret',
}
const access = (
  flags: AccessFlags,
  env: Record<string, string> = {},
  known: typeof demo | undefined = demo,
) => findAccess(flags, readSettings(env).settings, known)

describe('findAccess', () => {
  it.each<[string, AccessFlags, Record<string, string>, Partial<Access>]>([
    [
      'the demo is the default',
      {},
      {},
      { baseUrl: demo.base_url, appId: 'demo-app', appSecret: 'demo-secret', operatorKey: 'demo-operator' },
    ],
    [
      'the environment overrides the demo',
      {},
      { HERALD_APP_ID: 'a', HERALD_APP_SECRET: 's' },
      { appId: 'a', appSecret: 's' },
    ],
    [
      'flags override the environment',
      { app: 'b', secret: 't' },
      { HERALD_APP_ID: 'a', HERALD_APP_SECRET: 's' },
      { appId: 'b', appSecret: 't' },
    ],
    [
      'the demo’s secret is not used for another application',
      { app: 'b' },
      {},
      { appId: 'b', appSecret: undefined },
    ],
    [
      'the demo’s keys are not sent to another server',
      { url: 'https://push.example.com/' },
      {},
      { baseUrl: 'https://push.example.com', appId: undefined, appSecret: undefined, operatorKey: undefined },
    ],
    [
      'HERALD_URL may name the demo itself',
      {},
      { HERALD_URL: `${demo.base_url}/` },
      { baseUrl: demo.base_url, appId: 'demo-app' },
    ],
  ])('%s', (_name, flags, env, expected) => {
    expect(access(flags, env)).toMatchObject(expected)
  })

  it('falls back to the address of the settings', () => {
    const alone = (env: Record<string, string>) =>
      findAccess({}, readSettings(env).settings, undefined).baseUrl
    expect(alone({ HERALD_HOST: '0.0.0.0', HERALD_PORT: '81' })).toBe('http://127.0.0.1:81')
  })
})

describe('secrets', () => {
  it('are read from files, which override the environment', () => {
    const folder = mkdtempSync(join(tmpdir(), 'herald-cli-'))
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text)
      return join(folder, name)
    }
    const { settings } = readSettings({ HERALD_APP_SECRET: 'environment' })
    const find = (flags: object) => locate({ dataDir: folder, ...flags }, settings).access
    const secretFile = file('secret', 'from-a-file\n')
    try {
      expect(find({ secretFile, operatorKeyFile: file('key', 'operator\n') })).toMatchObject({
        appSecret: 'from-a-file',
        operatorKey: 'operator',
      })
      expect(find({})).toMatchObject({ appSecret: 'environment' })
      expect(() => find({ secret: 's', secretFile })).toThrow(
        '--secret and --secret-file cannot be used together.',
      )
      expect(() => find({ secretFile: file('empty', '\n') })).toThrow(/^--secret-file: .*empty is empty\.$/)
      expect(() => find({ operatorKeyFile: join(folder, 'none') })).toThrow(
        /^--operator-key-file: .* \(ENOENT\)/,
      )
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('are in no example as values of flags, where the process list shows them', () => {
    const root = join(import.meta.dirname, '../../..')
    const shown = /--(?:[\w-]*secret|operator-key|password|passphrase)[ =](?!and )[^<]/
    const lines = globSync(['*.md', 'docs/**/*.md', 'apps/cli/src/**/*.ts'], { cwd: root }).flatMap((path) =>
      readFileSync(join(root, path), 'utf8')
        .split('\n')
        .filter((line) => shown.test(line))
        .map((line) => `${path}: ${line}`),
    )
    expect(lines).toEqual([])
  })
})
