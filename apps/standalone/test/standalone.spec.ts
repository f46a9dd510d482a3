import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate, openDatabase } from '@herald/db/store'
import { listApplications } from '@herald/db/tenants'
import { processStart, stopLeftBehind } from '@herald/embedded'
import { describeWith, freePort, type RunningProcess, startApp, testRedis, until } from '@herald/testkit'
import { fillDataDirectory } from '@herald/testkit/data-directory'
import { testDatabase } from '@herald/testkit/database'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

let dataDir: string
let port: number
let base: string

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'herald-standalone-'))
  // A strict mode must not stop the server, which runs as another user when we are root.
  chmodSync(dataDir, 0o700)
  port = await freePort()
  base = `http://127.0.0.1:${port}`
})
afterEach(async () => {
  await stopLeftBehind(join(dataDir, 'postgres'))
  rmSync(dataDir, { recursive: true, force: true })
})

const start = (env: Record<string, string> = {}) =>
  startApp('apps/standalone/src/main.ts', { HERALD_PORT: String(port), HERALD_DATA_DIR: dataDir, ...env })

/** A check that takes two seconds counts as no answer, so a busy machine may need a second one. */
const untilReady = () => until(async () => (await fetch(`${base}/readyz`)).status === 200, { what: 'readyz' })

async function ready(herald: RunningProcess): Promise<RunningProcess> {
  await herald.prints(/Herald is ready at/)
  await untilReady()
  return herald
}

const readJson = (name: string) => JSON.parse(readFileSync(join(dataDir, name), 'utf8'))
const postgresPid = () =>
  Number.parseInt(readFileSync(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8'), 10)

/** The sentence of a start that exits with 1 and without a stack trace. */
async function refusal(herald: RunningProcess): Promise<string> {
  expect((await herald.exited).code).toBe(1)
  expect(herald.output()).not.toMatch(/^\s+at /m)
  return herald.output().trim().split('\n').at(-1) ?? ''
}

describe('the standalone', () => {
  it('starts in an empty directory, and leaves no process behind', async () => {
    const first = await ready(start({ HERALD_PROT: '1' }))
    expect(first.output()).toContain('HERALD_PROT is set, but Herald has no such setting.')
    expect(first.output()).not.toContain('"level":"error"')
    expect(readJson('demo.json')).toMatchObject({ base_url: base, operator_key: expect.any(String) })
    expect((await fetch(`${base}/healthz`)).status).toBe(200)
    const pid = postgresPid()
    expect(await first.stop('SIGINT')).toEqual({ code: 0, signal: null })
    expect(processStart(pid)).toBeUndefined()
    expect(readdirSync(dataDir).sort()).toEqual([
      'demo-credentials.json',
      'demo.json',
      'postgres',
      'secrets.json',
    ])
  })

  it.each([
    ['the creation of the database', /starting Postgres/],
    ['migrations', /applying \d+ migrations/],
  ])('stops during %s', async (_, printed) => {
    const herald = start()
    await herald.prints(printed)
    expect(await herald.stop('SIGINT')).toEqual({ code: 0, signal: null })
    const data = join(dataDir, 'postgres/data/postmaster.pid')
    expect(existsSync(data)).toBe(false)
  })

  it('refuses a data directory that another Herald uses', async () => {
    await fillDataDirectory(dataDir)
    const first = await ready(start())
    const second = start({ HERALD_PORT: String(await freePort()) })
    expect(await refusal(second)).toBe(
      `The data directory ${dataDir} is in use by another Herald, process ${first.pid}.`,
    )
    await untilReady()
    await first.stop('SIGINT')
  })

  it('refuses a port in use before anything slow', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    expect(await refusal(start())).toBe(
      `Port ${port} of 127.0.0.1 is in use by another program; set HERALD_PORT to a free port.`,
    )
    expect(existsSync(join(dataDir, 'postgres'))).toBe(false)
    server.close()
  })

  it('refuses a data directory that cannot be written', async () => {
    const file = join(dataDir, 'file')
    writeFileSync(file, '')
    expect(await refusal(start({ HERALD_DATA_DIR: join(file, 'below') }))).toMatch(
      /cannot be written \(ENOTDIR\)\.$/,
    )
  })

  it.each([
    [{ HERALD_PORT: 'many' }, 'HERALD_PORT must be a whole number from 1 to 65535, not "many".'],
    [{ HERALD_HOST: '192.0.2.1' }, 'Cannot listen on HERALD_HOST 192.0.2.1 (EADDRNOTAVAIL).'],
    [{ DATABASE_URL: 'postgres://u:p@127.0.0.1:1/db' }, 'The database db at 127.0.0.1:1 cannot be opened'],
  ])('refuses %j', async (env, sentence) => {
    expect(await refusal(start(env as Record<string, string>))).toContain(sentence)
  })

  it('refuses data of a newer Herald', async () => {
    const database = await testDatabase()
    const prisma = join(dataDir, 'prisma')
    cpSync(join(import.meta.dirname, '../../../prisma'), prisma, { recursive: true })
    mkdirSync(join(prisma, 'migrations/29990101_later'))
    writeFileSync(
      join(prisma, 'migrations/29990101_later/migration.sql'),
      `UPDATE compatible_since SET migration = '29990101_later'`,
    )
    await migrate(database.url, { folder: prisma })
    expect(await refusal(start({ DATABASE_URL: database.url }))).toBe(
      'The database was written by a newer Herald: it has the migration 29990101_later, which this one does not know.',
    )
    await database.drop()
  })

  it('uses DATABASE_URL, and refuses another master key than that of its secrets', async () => {
    const database = await testDatabase({ migrated: false })
    const herald = await ready(start({ DATABASE_URL: database.url }))
    await herald.stop('SIGINT')
    expect(existsSync(join(dataDir, 'postgres'))).toBe(false)
    // A database of others gets no demo.
    const db = openDatabase(database.url)
    expect(await listApplications(db)).toEqual([])
    await db.close()
    expect(JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'))).not.toHaveProperty('admin_token')
    const otherKey = { DATABASE_URL: database.url, HERALD_MASTER_KEY: '1'.repeat(64) }
    expect(await refusal(start(otherKey))).toBe(
      'A stored secret cannot be decrypted: HERALD_MASTER_KEY is not the key it was written with.',
    )
    await database.drop()
  })
})

describeWith('redis-server')('the standalone with Redis', () => {
  it('is not ready while the queue of QUEUE_URL is down, and uses it afterwards', async () => {
    await fillDataDirectory(dataDir)
    const away = await freePort()
    const herald = start({ QUEUE_URL: `redis://127.0.0.1:${away}/0` })
    const waiting = async () => (await fetch(`${base}/readyz`)).json()
    await until(async () => JSON.stringify(await waiting()) === '{"ready":false,"waiting":["queue"]}')
    const redis = await testRedis(['--port', String(away)])
    await ready(herald)
    expect(await clientsOf(away)).toBeGreaterThan(1)
    await herald.stop('SIGINT')
    await redis.stop()
  })
})

/** Number of clients of a Redis, including this one. */
async function clientsOf(port: number): Promise<number> {
  const socket = connect(port, '127.0.0.1')
  socket.write('INFO clients\r\n')
  const [info] = await once(socket, 'data')
  socket.destroy()
  return Number(/connected_clients:(\d+)/.exec(String(info))?.[1])
}
