import { testDatabase, until } from '@herald/testkit'
import { expect, it, jest } from '@jest/globals'
import { saveCertificate } from '../src/certificates/index.ts'
import { createSealer, isUnreachable, openDatabase } from '../src/store/index.ts'
import { createApplication } from '../src/tenants/index.ts'

it('a save waits for a connection as long as the pool allows, beyond the two seconds of Prisma’s default', async () => {
  const database = await testDatabase()
  const db = openDatabase(database.url, { max: 1 })
  try {
    await createApplication(db, { appId: 'shop', name: 'Shop', packageName: '' })
    const busy = await db.pool.connect()
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date'] })
    const saving = saveCertificate(db, createSealer(Buffer.alloc(32)), {
      application: 'shop',
      channel: 'vivo',
      environment: 'production',
      name: '',
      appId: '1',
      appKey: '2',
      appSecret: '3',
      certificate: '',
      extra: {},
    })
    saving.catch(() => {})
    await until(() => db.pool.waitingCount > 0)
    await jest.advanceTimersByTimeAsync(4_000)
    jest.useRealTimers()
    busy.release()
    expect(await saving).toMatchObject({ appId: '1', version: 1 })
  } finally {
    jest.useRealTimers()
    await db.close()
    await database.drop()
  }
})

it('a transaction that found no connection counts as a store that cannot be reached', () => {
  expect(isUnreachable(Object.assign(new Error('Transaction API error'), { code: 'P2028' }))).toBe(true)
})
