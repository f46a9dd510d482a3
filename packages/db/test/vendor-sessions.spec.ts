import { randomBytes } from 'node:crypto'
import { type TestDatabase, testDatabase } from '@herald/testkit'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { saveCertificate, vendorSession } from '../src/certificates/index.ts'
import { createSealer, type Database, openDatabase } from '../src/store/index.ts'
import { createApplication } from '../src/tenants/index.ts'

let database: TestDatabase
let db: Database
let certificateId: number
const sealer = createSealer(randomBytes(32))
beforeAll(async () => {
  database = await testDatabase()
  db = openDatabase(database.url)
  await createApplication(db, { name: 'spec', packageName: 'com.example', appId: 'spec' })
  const place = { application: 'spec', channel: 'huawei', environment: 'production' } as const
  const fields = { name: 'h', appId: '1', appKey: '', appSecret: 's', certificate: '', extra: {} }
  certificateId = (await saveCertificate(db, sealer, { ...place, ...fields })).id
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

/** The same database, where a statement of this name waits for `gate` once it has been answered. */
function slowAfter(name: string, gate: Promise<void>): Database {
  const query = async (statement: { name: string }) => {
    const result = await db.pool.query(statement as never)
    if (statement.name === name) await gate
    return result
  }
  return { ...db, pool: { query } as unknown as Database['pool'] }
}

const minting = (minted: string[]) => async () => {
  minted.push(`pass ${minted.length + 1}`)
  return { value: minted.at(-1)!, renewAt: Date.now() + 600_000, expiresAt: Date.now() + 900_000 }
}

it('mints once for many who ask at the same time', async () => {
  const minted: string[] = []
  const asked = Array.from({ length: 60 }, () =>
    vendorSession(db, sealer, certificateId, 'many', minting(minted)),
  )
  expect(new Set(await Promise.all(asked))).toEqual(new Set(['pass 1']))
  expect(minted).toEqual(['pass 1'])
})

it('takes the pass that somebody minted between its look and its claim', async () => {
  const minted: string[] = []
  const gate = Promise.withResolvers<void>()
  const late = vendorSession(
    slowAfter('session-read', gate.promise),
    sealer,
    certificateId,
    'late',
    minting(minted),
  )
  expect(await vendorSession(db, sealer, certificateId, 'late', minting(minted))).toBe('pass 1')
  gate.resolve()
  expect(await late).toBe('pass 1')
  expect(minted).toEqual(['pass 1'])
})

it('takes the pass of somebody else when its own minting took too long', async () => {
  const minted: string[] = []
  const gate = Promise.withResolvers<void>()
  const slow = vendorSession(
    slowAfter('session-claim', gate.promise),
    sealer,
    certificateId,
    'slow',
    minting(minted),
  )
  const claimed = async () =>
    (await db.pool.query(`SELECT 1 FROM vendor_session WHERE key = 'slow'`)).rowCount === 1
  while (!(await claimed())) await new Promise((resolve) => setTimeout(resolve, 10))
  await db.pool.query(
    `UPDATE vendor_session SET minting_until = now() - interval '1 second' WHERE key = 'slow'`,
  )
  expect(await vendorSession(db, sealer, certificateId, 'slow', minting(minted))).toBe('pass 1')
  gate.resolve()
  expect(await slow).toBe('pass 1')
  expect(minted).toEqual(['pass 1', 'pass 2'])
})
