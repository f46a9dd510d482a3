import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '@herald/embedded'
import { afterAll, describe, expect, it } from '@jest/globals'
import pg from 'pg'
import { fillDataDirectory } from '../src/data-directory.ts'
import { testDatabase } from '../src/database.ts'
import { describeWith, freePort, hasProgram, startProcess, testRedis, until } from '../src/index.ts'
import { openResources } from '../src/open-resources.ts'

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

describe('testDatabase', () => {
  const databases: Awaited<ReturnType<typeof testDatabase>>[] = []
  afterAll(() => Promise.all(databases.map((database) => database.drop())))

  it("creates separate databases with Herald's tables", async () => {
    databases.push(...(await Promise.all([testDatabase(), testDatabase(), testDatabase()])))
    const [first, second] = databases.map(({ url }) => url)
    await query(first!, 'CREATE TABLE mine AS SELECT 1 AS n')
    await expect(query(second!, 'SELECT n FROM mine')).rejects.toThrow('does not exist')
    expect(await query(second!, 'SELECT count(*)::int AS n FROM device')).toEqual([{ n: 0 }])
  })

  it('creates an empty database with migrated: false', async () => {
    const database = await testDatabase({ migrated: false })
    databases.push(database)
    expect(await query(database.url, `SELECT FROM pg_tables WHERE schemaname = 'public'`)).toEqual([])
  })

  it('reports connections that were left open', async () => {
    const { url, drop } = await testDatabase({ closingSeconds: 1 })
    const client = new pg.Client({ connectionString: url, application_name: 'forgotten' })
    client.on('error', () => {})
    await client.connect()
    await expect(drop()).rejects.toThrow(/1 connections .* left open: forgotten/)
    await client.end()
  })
})

describe('fillDataDirectory', () => {
  const folder = mkdtempSync(join(tmpdir(), 'herald-filled-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('makes separate copies of the directory of a standalone that has ended', async () => {
    const [first, second] = ['first', 'second'].map((name) => join(folder, name)) as [string, string]
    await Promise.all([fillDataDirectory(first), fillDataDirectory(second)])
    expect(readdirSync(first).sort()).toEqual([
      'demo-credentials.json',
      'demo.json',
      'postgres',
      'secrets.json',
    ])
    expect(statSync(first).mode & 0o777).toBe(0o700)
    expect(readdirSync(join(first, 'postgres/data'))).not.toContain('postmaster.pid')
    writeFileSync(join(first, 'secrets.json'), '{}')
    expect(readFileSync(join(second, 'secrets.json'), 'utf8')).toContain('HERALD_MASTER_KEY')

    const postgres = await startPostgres({ dir: join(first, 'postgres'), durable: false })
    expect(await query(postgres.url, 'SELECT name FROM application')).toHaveLength(1)
    await postgres.stop()
  })
})

describe('until', () => {
  it('returns the value of the condition', async () => {
    let n = 0
    expect(await until(() => (++n > 2 ? n : undefined))).toBe(3)
  })

  it('names what it waited for, with the last error as cause', async () => {
    const waiting = until(() => Promise.reject(new Error('not yet')), { what: 'the moon', seconds: 0.05 })
    await expect(waiting).rejects.toMatchObject({
      message: 'Timed out after 0.05 s waiting for the moon.',
      cause: new Error('not yet'),
    })
  })
})

describe('startProcess', () => {
  it('collects output, waits for it and returns the exit code', async () => {
    const child = startProcess(process.execPath, [
      '-e',
      `console.error('!'); console.log('port ' + 81); setInterval(() => {}, 1e6)`,
    ])
    expect((await child.prints(/port (\d+)/))[1]).toBe('81')
    expect(await child.stop()).toEqual({ code: null, signal: 'SIGTERM' })
    expect(child.output()).toContain('!')
  })

  it('does not wait for the output of a program that has exited', async () => {
    const child = startProcess(process.execPath, ['-e', `console.log('oops'); process.exit(3)`])
    await expect(child.prints(/ready/)).rejects.toThrow(/ended before it printed.*oops/s)
    expect(await child.exited).toEqual({ code: 3, signal: null })
  })

  it('is an open resource until it exits', async () => {
    const child = startProcess(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'])
    expect([...openResources().values()]).toContainEqual(expect.stringContaining(`process ${child.pid}`))
    await child.stop('SIGKILL')
    expect([...openResources().values()].filter((name) => name.startsWith('process'))).toEqual([])
  })
})

describe('hasProgram', () => {
  const { CI } = process.env
  afterAll(() => {
    if (CI === undefined) delete process.env.CI
    else process.env.CI = CI
  })

  it('throws in CI if a program is missing', () => {
    process.env.CI = 'true'
    expect(() => hasProgram('no-such-program')).toThrow('CI must have no-such-program installed.')
    delete process.env.CI
    expect(hasProgram('no-such-program')).toBe(false)
  })
})

describeWith('redis-server')('testRedis', () => {
  it('listens on its own port until it is stopped', async () => {
    const redis = await testRedis()
    expect(redis.url).toBe(`redis://127.0.0.1:${redis.port}/0`)
    await redis.stop()
    expect(await redis.process.exited).toMatchObject({ signal: 'SIGKILL' })
  })
})

describe('freePort', () => {
  it('returns different ports', async () => {
    expect(new Set(await Promise.all([freePort(), freePort(), freePort()])).size).toBe(3)
  })

  it('returns different ports to two processes of a run', async () => {
    const count = 200
    const ports = `import { freePort } from '${join(import.meta.dirname, '../src/free-port.ts')}'
      for (let i = 0; i < ${count}; i++) console.log(await freePort())`
    const env = { TESTKIT_URL: process.env.TESTKIT_URL! }
    const other = startProcess(process.execPath, ['--input-type=module', '--eval', ports], { env })
    const own = new Set<number>()
    for (let i = 0; i < count; i++) own.add(await freePort())
    expect(await other.exited).toEqual({ code: 0, signal: null })
    const others = other.output().trim().split('\n').map(Number)
    expect(others.length).toBe(count)
    expect(others.filter((port) => own.has(port))).toEqual([])
  })
})
