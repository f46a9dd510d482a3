import { recordCertificateError, removeCertificate, saveCertificate } from '@herald/db/certificates'
import { createSealer, type Database, openDatabase } from '@herald/db/store'
import { createApplication } from '@herald/db/tenants'
import { stubChannel, type TestDatabase, testDatabase, until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { createCertificateCache } from '../src/index.ts'

let database: TestDatabase
let db: Database
let application: string
beforeAll(async () => {
  database = await testDatabase()
  db = openDatabase(database.url, { max: 3 })
  const made = await createApplication(db, { name: 'cached', packageName: '' })
  if (made === 'taken') throw new Error('taken')
  application = made.appId
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

describe('the certificate cache', () => {
  it('sees every change within a second, and opens only changed certificates again', async () => {
    const sealer = createSealer(Buffer.alloc(32))
    let opened = 0
    const counting: typeof sealer = {
      ...sealer,
      open(...given) {
        opened++
        return sealer.open(...given)
      },
    }
    const place = { application, channel: 'oppo', environment: 'production' } as const
    const save = (name: string) =>
      saveCertificate(db, sealer, {
        ...place,
        name,
        appId: 'a',
        appKey: 'k',
        appSecret: 's',
        certificate: '',
        extra: {},
      })
    const now = performance.now.bind(performance)
    const clock = jest.spyOn(performance, 'now')
    const { id } = await save('first')
    const adapters = { oppo: stubChannel('oppo', { url: 'http://127.0.0.1:1' }) }
    const cache = createCertificateCache({ db, sealer: counting, adapters })
    const stored = async () => {
      const found = await cache.byId(id)
      if ('problem' in found) throw new Error(found.problem.text)
      return found.stored
    }
    const first = await cache.of(application)
    expect(await stored()).toMatchObject({ name: 'first' })
    const before = opened
    clock.mockImplementation(() => now() + 2_000)
    expect(await cache.of(application)).toBe(first)
    expect(opened).toBe(before)

    await save('second')
    await until(async () => (await stored()).name === 'second')
    await recordCertificateError(db, id, 'refused')
    await until(async () => (await stored()).lastError === 'refused')
    await removeCertificate(db, place)
    await until(async () => 'problem' in (await cache.byId(id)))
    clock.mockRestore()
  })
})
