import { randomBytes } from 'node:crypto'
import { type TestDatabase, testDatabase } from '@herald/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { certificateAt, saveCertificate, vendorSession } from '../src/certificates/index.ts'
import { createSealer, type Database, openDatabase, resealSecrets, sharedKey } from '../src/store/index.ts'
import { sealedTables } from '../src/store/reseal.ts'
import { SealBroken } from '../src/store/seal.ts'
import { createApplication } from '../src/tenants/index.ts'

let database: TestDatabase
let db: Database
beforeAll(async () => {
  database = await testDatabase()
  db = openDatabase(database.url)
  await createApplication(db, { name: 'spec', packageName: 'com.example', appId: 'spec' })
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

const [first, second, third] = [1, 2, 3].map(() => randomBytes(32)) as [Buffer, Buffer, Buffer]
const place = { application: 'spec', channel: 'huawei', environment: 'production' } as const
const secrets = {
  appId: '100',
  appKey: '',
  appSecret: 'the secret',
  certificate: '',
  extra: { callback_secret: 'c' },
}
const pass = { value: 'the pass', renewAt: Date.now() + 600_000, expiresAt: Date.now() + 900_000 }
const never = () => Promise.reject(new Error('nothing is minted anew'))

async function fill(key: Buffer): Promise<number> {
  const sealer = createSealer(key)
  const { id } = await saveCertificate(db, sealer, { ...place, ...secrets, name: 'n' })
  await saveCertificate(db, sealer, { ...place, ...secrets, environment: 'development', name: 'n' })
  await db.pool.query('DELETE FROM instance_key')
  await sharedKey(db, sealer, 'token-signing', () => 'the signing key')
  await vendorSession(db, sealer, id, 'access', async () => pass)
  return id
}

async function readAll(sealer: ReturnType<typeof createSealer>, id: number): Promise<unknown[]> {
  return [
    (await certificateAt(db, sealer, place))?.appSecret,
    (await certificateAt(db, sealer, { ...place, environment: 'development' }))?.extra,
    await sharedKey(db, sealer, 'token-signing', () => 'another'),
    await vendorSession(db, sealer, id, 'access', never),
  ]
}
const all = ['the secret', { callback_secret: 'c' }, 'the signing key', 'the pass']

describe('rotating the master key', () => {
  let id: number
  beforeEach(async () => {
    id = await fill(first)
  })

  it('reads with both keys while it lasts, and with the new one alone afterwards', async () => {
    expect(await readAll(createSealer(first, [second]), id)).toEqual(all)
    const rotating = createSealer(second, [first])
    expect(await readAll(rotating, id)).toEqual(all)
    expect(await resealSecrets(db, rotating)).toEqual({ resealed: 4, broken: 0 })
    expect(await readAll(createSealer(second), id)).toEqual(all)
    await expect(certificateAt(db, createSealer(first), place)).rejects.toThrow(SealBroken)
    expect(await resealSecrets(db, rotating)).toEqual({ resealed: 0, broken: 0 })
  })

  it('changes no version: open transports stay good', async () => {
    const before = await certificateAt(db, createSealer(first), place)
    await resealSecrets(db, createSealer(second, [first]))
    expect(await certificateAt(db, createSealer(second), place)).toEqual(before)
  })

  it('counts what no key opens, and leaves it alone', async () => {
    const before = await db.pool.query('SELECT sealed FROM certificate ORDER BY id')
    expect(await resealSecrets(db, createSealer(second, [third]))).toEqual({ resealed: 0, broken: 4 })
    expect((await db.pool.query('SELECT sealed FROM certificate ORDER BY id')).rows).toEqual(before.rows)
  })

  it('lets whoever saves meanwhile win', async () => {
    const rotating = createSealer(second, [first])
    let saved = false
    const query = db.pool.query.bind(db.pool)
    const spied = Object.create(db.pool) as typeof db.pool
    spied.query = (async (text: string, values: unknown[]) => {
      if (/^UPDATE certificate/.test(text) && !saved) {
        saved = true
        await saveCertificate(db, createSealer(second), {
          ...place,
          ...secrets,
          appSecret: 'a newer one',
          name: 'n',
        })
      }
      return query(text, values)
    }) as never
    await resealSecrets({ ...db, pool: spied }, rotating)
    expect(saved).toBe(true)
    expect((await certificateAt(db, createSealer(second), place))?.appSecret).toBe('a newer one')
  })

  it('knows every table that holds something sealed', async () => {
    const { rows } = await db.pool.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.columns
       WHERE table_schema = 'public' AND column_name = 'sealed' ORDER BY 1`,
    )
    expect(rows.map(({ name }) => name)).toEqual(Object.keys(sealedTables).sort())
  })
})

describe('a sealed value', () => {
  const sealer = createSealer(first)
  it('opens only where it was put, and only unchanged', () => {
    const sealed = sealer.seal('plain', 'certificate/a/huawei/production')
    expect(sealer.open(sealed, 'certificate/a/huawei/production')).toBe('plain')
    expect(() => sealer.open(sealed, 'certificate/b/huawei/production')).toThrow(SealBroken)
    for (let i = 0; i < sealed.length; i++) {
      const changed = Buffer.from(sealed)
      changed[i]! ^= 1
      expect(() => sealer.open(changed, 'certificate/a/huawei/production')).toThrow(SealBroken)
    }
    expect(() => sealer.open(sealed.subarray(0, 20), 'certificate/a/huawei/production')).toThrow(SealBroken)
    expect(sealed.toString('latin1')).not.toContain('plain')
  })

  it('is never the same twice', () => {
    expect(sealer.seal('plain', 'x').equals(sealer.seal('plain', 'x'))).toBe(false)
  })
})
