import { testDatabase } from '@herald/testkit/database'
import { expect, it, jest } from '@jest/globals'
import { saveCertificate } from '../src/certificates/index.ts'
import { createSealer, isUnreachable, openDatabase } from '../src/store/index.ts'
import { createApplication } from '../src/tenants/index.ts'

it('a save waits for a connection longer than Prisma’s default of two seconds', async () => {
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
    while (db.pool.waitingCount === 0) await new Promise(setImmediate)
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

it('a transaction that got no connection counts as unreachable', () => {
  expect(isUnreachable(Object.assign(new Error('Transaction API error'), { code: 'P2028' }))).toBe(true)
})
