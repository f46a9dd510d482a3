import { createApplication, createSealer, type Database, ensurePartitions, openDatabase } from '@herald/db'
import type { NewTask } from '@herald/domain'
import type { PushQueues } from '@herald/queue'
import { sampleMessage, type TestDatabase, testDatabase } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createAcceptor, createCertificateBook } from '../src/index.ts'

let database: TestDatabase
let db: Database
let appId: string
beforeAll(async () => {
  database = await testDatabase()
  db = openDatabase(database.url, { max: 5 })
  await ensurePartitions(db)
  const made = await createApplication(db, { name: 'accepting', packageName: '' })
  if (made === 'taken') throw new Error('taken')
  appId = made.appId
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

const open = (through: Database = db) =>
  createAcceptor({
    db: through,
    queues: { add: async () => {} } as unknown as PushQueues,
    certificates: createCertificateBook({ db, sealer: createSealer(Buffer.alloc(32)), adapters: {} }),
    onQueueFailure: () => {},
  })
const task = (change: Partial<NewTask> = {}): NewTask => ({
  appId,
  audience: { kind: 'all' },
  strategy: 'nativepush_only',
  sequence: [],
  message: sampleMessage(),
  ttl: 100,
  ...change,
})
const known = async (taskId: number) =>
  (await db.pool.query('SELECT 1 FROM task WHERE id = $1', [taskId])).rowCount === 1

describe('an acceptor', () => {
  it('answers when the task is committed', async () => {
    const acceptor = open()
    const { taskId } = await acceptor.accept(task())
    expect(await known(taskId)).toBe(true)
    await acceptor.close()
  })

  it('answers nothing when it is not', async () => {
    const query = (statement: { name: string }) =>
      statement.name === 'accept'
        ? Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))
        : db.pool.query(statement)
    const acceptor = open({ ...db, pool: { query } } as unknown as Database)
    await expect(acceptor.accept(task())).rejects.toThrow('ECONNREFUSED')
    await acceptor.close()
  })

  it('closes when all that came are answered', async () => {
    const acceptor = open()
    let answered = 0
    const answers = Array.from({ length: 200 }, () =>
      acceptor.accept(task()).then(() => {
        answered++
      }),
    )
    await acceptor.close()
    expect(answered).toBe(200)
    await Promise.all(answers)
  })
})
