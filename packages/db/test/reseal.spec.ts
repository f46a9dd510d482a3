import { randomBytes } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { certificateAt, readSession, saveCertificate } from '../src/certificates/index.ts'
import { createSealer, resealSecrets, sharedKey } from '../src/store/index.ts'
import { sealedColumns } from '../src/store/reseal.ts'
import { SealBroken } from '../src/store/seal.ts'
import { createApplication } from '../src/tenants/index.ts'
import { useDatabase } from './setup.ts'

const db = useDatabase()
beforeAll(() => createApplication(db, { name: 'spec', packageName: 'com.example', appId: 'spec' }))

const [first, second, third] = [1, 2, 3].map(() => randomBytes(32)) as [Buffer, Buffer, Buffer]
const place = { application: 'spec', channel: 'huawei', environment: 'production' } as const
const secrets = {
  appId: '100',
  appKey: '',
  appSecret: 'the secret',
  certificate: '',
  extra: { callback_secret: 'c' },
}
const session = { value: 'the access token', renewAt: Date.now() + 600_000, expiresAt: Date.now() + 900_000 }
const never = () => Promise.reject(new Error('no new one is needed'))

async function fill(key: Buffer): Promise<number> {
  const sealer = createSealer(key)
  const { id } = await saveCertificate(db, sealer, { ...place, ...secrets, name: 'n' })
  await saveCertificate(db, sealer, { ...place, ...secrets, environment: 'development', name: 'n' })
  await db.pool.query('DELETE FROM instance_key')
  await db.pool.query('DELETE FROM shared_session')
  await sharedKey(db, sealer, 'token-signing', () => 'the signing key')
  await readSession(db, sealer, { certificateId: id, key: 'access' }, async () => session)
  await readSession(db, sealer, { key: 'shared' }, async () => ({ ...session, value: 'the shared token' }))
  return id
}

async function readAll(sealer: ReturnType<typeof createSealer>, id: number): Promise<unknown[]> {
  return [
    (await certificateAt(db, sealer, place))?.appSecret,
    (await certificateAt(db, sealer, place))?.callbackKey.length,
    (await certificateAt(db, sealer, { ...place, environment: 'development' }))?.extra,
    await sharedKey(db, sealer, 'token-signing', () => 'another'),
    (await readSession(db, sealer, { certificateId: id, key: 'access' }, never)).value,
    (await readSession(db, sealer, { key: 'shared' }, never)).value,
  ]
}
const all = [
  'the secret',
  22,
  { callback_secret: 'c' },
  'the signing key',
  'the access token',
  'the shared token',
]

describe('rotating the master key', () => {
  let id: number
  beforeEach(async () => {
    id = await fill(first)
  })

  it('opens secrets with both keys, and with the new one only after resealing', async () => {
    expect(await readAll(createSealer(first, [second]), id)).toEqual(all)
    const rotating = createSealer(second, [first])
    expect(await readAll(rotating, id)).toEqual(all)
    expect(await resealSecrets(db, rotating)).toEqual({ resealed: 7, broken: 0 })
    expect(await readAll(createSealer(second), id)).toEqual(all)
    await expect(certificateAt(db, createSealer(first), place)).rejects.toThrow(SealBroken)
    expect(await resealSecrets(db, rotating)).toEqual({ resealed: 0, broken: 0 })
  })

  it('changes no version, so open transports stay valid', async () => {
    const before = await certificateAt(db, createSealer(first), place)
    await resealSecrets(db, createSealer(second, [first]))
    expect(await certificateAt(db, createSealer(second), place)).toEqual(before)
  })

  it('counts secrets that no key opens, and leaves them alone', async () => {
    const before = await db.pool.query('SELECT sealed FROM certificate ORDER BY id')
    expect(await resealSecrets(db, createSealer(second, [third]))).toEqual({ resealed: 0, broken: 7 })
    expect((await db.pool.query('SELECT sealed FROM certificate ORDER BY id')).rows).toEqual(before.rows)
  })

  it('does not overwrite a concurrent save', async () => {
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

  it('knows every column with sealed values', async () => {
    const { rows } = await db.pool.query<{ name: string }>(
      `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
       WHERE table_schema = 'public' AND column_name ~ 'sealed$'`,
    )
    expect(rows.map(({ name }) => name).sort()).toEqual(Object.keys(sealedColumns).sort())
  })
})

describe('a sealed value', () => {
  const sealer = createSealer(first)
  it('opens only for its own row, and only unchanged', () => {
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

  it('differs each time', () => {
    expect(sealer.seal('plain', 'x').equals(sealer.seal('plain', 'x'))).toBe(false)
  })
})
