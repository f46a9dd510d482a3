import { saveCertificate } from '@herald/db/certificates'
import { createSealer, openDatabase } from '@herald/db/store'
import { createApplication } from '@herald/db/tenants'
import { describeWith, freePort, testRedis } from '@herald/testkit'
import { type TestDatabase, testDatabase } from '@herald/testkit/database'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Finding } from '../src/doctor/finding.ts'
import { records, runInProcess } from './run-cli.ts'

let database: TestDatabase
let nowhere: string
const masterKey = 'ab'.repeat(32)

beforeAll(async () => {
  nowhere = `127.0.0.1:${await freePort()}`
  database = await testDatabase()
  const db = openDatabase(database.url, { max: 1 })
  try {
    await createApplication(db, { appId: 'shop', name: 'Shop', packageName: '' })
    await saveCertificate(db, createSealer(Buffer.from(masterKey, 'hex')), {
      application: 'shop',
      channel: 'xiaomi',
      environment: 'production',
      name: '',
      appId: '1',
      appKey: '2',
      appSecret: 'hush',
      certificate: '',
      extra: {},
      expiresAt: Date.now() + 86_400_000,
    })
  } finally {
    await db.close()
  }
})
afterAll(() => database.drop())

async function examine(env: Record<string, string>, ...flags: string[]) {
  const ran = await runInProcess(['doctor', '--json', ...flags], {
    HERALD_DATA_DIR: '/nonexistent',
    HERALD_URL: `http://${nowhere}`,
    ...env,
  })
  expect(ran.stderr).toBe('')
  const [report] = records(ran) as { ok: boolean; findings: Finding[] }[]
  const said = (area: Finding['area']) =>
    report!.findings.filter((one) => one.area === area).map(({ state, what }) => `${state} ${what}`)
  return { code: ran.code, ...report!, said }
}

describe('doctor', () => {
  it('reports wrong settings and runs the other checks', async () => {
    const { code, ok, said } = await examine(
      { HERALD_PORT: 'http', HERALD_TOKEN_DAYS: '0', HERALD_PROT: '1', DATABASE_URL: database.url },
      '--no-vendors',
    )
    expect({ code, ok }).toEqual({ code: 1, ok: false })
    expect(said('settings')).toEqual([
      'fail HERALD_PORT must be a whole number from 1 to 65535, not "http".',
      'fail HERALD_TOKEN_DAYS must be a whole number from 1 to 3650, not "0".',
      'warn HERALD_PROT is set, but Herald has no such setting.',
      'warn HERALD_PUBLIC_URL is not set, so there are no receipts of Xiaomi',
    ])
    expect(said('herald')[0]).toMatch(/^warn http:\/\/127\.0\.0\.1:\d+ cannot be reached/)
    expect(said('migrations')[0]).toMatch(/^ok \d+ migrations? applied, none pending$/)
    expect(said('keys')).toEqual(['fail HERALD_MASTER_KEY is not set'])
    expect(said('certificates')[0]).toMatch(/^warn xiaomi \(production\) of shop expires on /)
    expect(said('vendors')).toEqual([])
    expect(said('balance')[0]).toMatch(/^ok Balanced: 0 tasks/)
  })

  it('reports a database that is not reachable or not set', async () => {
    const wrong = await examine({ DATABASE_URL: `postgres://me:hush@${nowhere}/herald` }, '--no-vendors')
    expect(wrong.code).toBe(1)
    expect(wrong.said('postgres')[0]).toMatch(
      /^fail the database herald at .* cannot be used: .*ECONNREFUSED/,
    )
    expect(wrong.said('queue')[0]).toMatch(/^fail the queue in Postgres cannot be asked: /)
    expect(JSON.stringify(wrong.findings)).not.toContain('hush')
    const none = await examine({}, '--no-vendors')
    expect(none.said('postgres')).toEqual([
      'fail DATABASE_URL is not set and no standalone with a Postgres of its own is running in /nonexistent',
    ])
  })

  it('reports pending migrations', async () => {
    const empty = await testDatabase({ migrated: false })
    try {
      const { code, said } = await examine(
        { DATABASE_URL: empty.url, HERALD_MASTER_KEY: masterKey },
        '--no-vendors',
      )
      expect(code).toBe(1)
      expect(said('migrations')[0]).toMatch(/^fail \d+ migrations? pending: \d+_first/)
      expect(said('queue')).toEqual(['warn the queue tables do not exist yet'])
      expect(said('certificates')).toEqual([])
    } finally {
      await empty.drop()
    }
  })

  it('keeps the other findings if the counters cannot be read', async () => {
    const db = openDatabase(database.url, { max: 1 })
    const rename = (from: string, to: string) => db.pool.query(`ALTER TABLE ${from} RENAME TO ${to}`)
    try {
      await rename('counter', 'counter_away')
      const { said } = await examine(
        { DATABASE_URL: database.url, HERALD_MASTER_KEY: masterKey },
        '--no-vendors',
      )
      expect(said('balance')).toEqual([
        'warn the counters could not be read: relation "counter" does not exist',
      ])
      expect(said('postgres').filter((line) => line.includes('cannot be used'))).toEqual([])
      expect(said('certificates')[0]).toMatch(/^warn xiaomi \(production\) of shop expires on /)
      // Of the certificates that were read.
      expect(said('settings')).toContain(
        'warn HERALD_PUBLIC_URL is not set, so there are no receipts of Xiaomi',
      )
    } finally {
      await rename('counter_away', 'counter')
      await db.close()
    }
  })

  it('reports a wrong master key and a vendor that cannot be reached', async () => {
    const { said } = await examine({
      DATABASE_URL: database.url,
      HERALD_MASTER_KEY: 'cd'.repeat(32),
      HERALD_XIAOMI_URL: `http://${nowhere}`,
      // The spec does not depend on an outbound network.
      HERALD_PROXY: `http://${nowhere}`,
    })
    expect(said('keys')).toEqual(['fail HERALD_MASTER_KEY does not decrypt 2 of 2 stored secrets'])
    const failed = said('vendors').filter((line) => line.startsWith('fail'))
    expect(failed).toEqual([expect.stringMatching(/^fail xiaomi 127\.0\.0\.1:\d+: .*ECONNREFUSED/)])
    expect(said('vendors')).toHaveLength(16)
  })
})

describeWith('redis-server')('doctor with Redis', () => {
  it('reports an eviction policy that loses jobs, and a server that is down', async () => {
    const env = { DATABASE_URL: database.url, HERALD_MASTER_KEY: masterKey }
    const redis = await testRedis(['--maxmemory-policy', 'allkeys-lru'])
    try {
      const { code, said } = await examine({ ...env, QUEUE_URL: redis.url }, '--no-vendors')
      expect(code).toBe(1)
      expect(said('keys')).toEqual(['ok HERALD_MASTER_KEY decrypts 2 stored secrets'])
      expect(said('queue')).toEqual([
        expect.stringMatching(/^ok Redis \d+\.\d+\S* is reachable \(single server\)$/),
        `fail 127.0.0.1:${redis.port}: maxmemory-policy is allkeys-lru: jobs may be evicted`,
        expect.stringMatching(/^warn .* appendonly is off/),
      ])
    } finally {
      await redis.stop()
    }
    const away = await examine({ ...env, QUEUE_URL: `redis://${nowhere}` }, '--no-vendors')
    expect(away.said('queue')).toEqual([expect.stringMatching(/^fail Redis cannot be asked: .*ECONNREFUSED/)])
  })
})
