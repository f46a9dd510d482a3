import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { processStart } from '@herald/embedded'
import { readSettings } from '@herald/settings'
import { until } from '@herald/testkit'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { takeDataDirectory } from '../src/data-directory.ts'
import { withKeptSecrets } from '../src/secrets.ts'

let top: string
let dir: string
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'herald-data-'))
  dir = join(top, 'data')
})
afterEach(() => rmSync(top, { recursive: true }))

describe('takeDataDirectory', () => {
  it('creates it for its owner only, and releases it', async () => {
    const { release } = await takeDataDirectory(dir)
    expect(statSync(dir).mode & 0o777).toBe(0o700)
    expect(readdirSync(dir)).toEqual(['herald.lock'])
    release()
    expect(readdirSync(dir)).toEqual([])
  })

  it('names the process that uses it', async () => {
    const { release } = await takeDataDirectory(dir)
    await expect(takeDataDirectory(dir)).rejects.toThrow(
      `The data directory ${dir} is in use by another Herald, process ${process.pid}.`,
    )
    release()
    ;(await takeDataDirectory(dir)).release()
  })

  it('waits for a Herald that is stopping', async () => {
    const first = await takeDataDirectory(dir)
    first.markStopping()
    const said: string[] = []
    const second = takeDataDirectory(dir, (sentence) => said.push(sentence))
    await until(() => said.length === 1)
    expect(said).toEqual([`waiting for process ${process.pid}, which is stopping`])
    first.release()
    await second
    expect(readdirSync(dir)).toEqual(['herald.lock'])
    ;(await second).release()
  })

  it.each([
    ['of a process that has ended', JSON.stringify([{ pid: 2 ** 22 + 1, started: '1' }])],
    ['whose pid belongs to another process now', JSON.stringify([{ pid: process.pid, started: '1' }])],
    ['without an owner', ''],
  ])('replaces a lock %s', async (_lock, text) => {
    ;(await takeDataDirectory(dir)).release()
    writeFileSync(join(dir, 'herald.lock'), text)
    const { release } = await takeDataDirectory(dir)
    expect(JSON.parse(readFileSync(join(dir, 'herald.lock'), 'utf8'))).toEqual([
      { pid: process.pid, started: processStart(process.pid) },
    ])
    release()
    expect(readdirSync(dir)).toEqual([])
  })

  it('reports that it cannot be written', async () => {
    writeFileSync(dir, 'a file')
    await expect(takeDataDirectory(join(dir, 'below'))).rejects.toThrow(
      /^The data directory .*below cannot be written \(ENOTDIR\)\.$/,
    )
  })
})

describe('withKeptSecrets', () => {
  const settings = (env = {}) => readSettings(env).settings
  beforeEach(async () => (await takeDataDirectory(dir)).release())

  it('generates missing secrets once, readable by their owner only', () => {
    const first = withKeptSecrets(settings(), dir)
    expect(first.masterKey).toHaveLength(32)
    expect(first.operatorKey).toMatch(/^[\w-]{32}$/)
    expect(first.tokenKey).toContain('PRIVATE KEY')
    expect(withKeptSecrets(settings(), dir)).toEqual(first)
    expect(statSync(join(dir, 'secrets.json')).mode & 0o777).toBe(0o600)
  })

  it('prefers the environment', () => {
    const given = settings({ HERALD_MASTER_KEY: 'ab'.repeat(32) })
    expect(withKeptSecrets(given, dir).masterKey).toEqual(Buffer.alloc(32, 0xab))
  })

  it('does not replace keys that it cannot read', () => {
    writeFileSync(join(dir, 'secrets.json'), '{"HERALD_MAS')
    expect(() => withKeptSecrets(settings(), dir)).toThrow(
      /secrets\.json contains the keys of the database and cannot be read/,
    )
    expect(existsSync(join(dir, 'secrets.json'))).toBe(true)
  })
})
