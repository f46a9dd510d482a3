import { sampleMessage } from '@herald/testkit'
import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import type { Database } from '../src/store/index.ts'
import { AcceptInDoubt, acceptTasks, type TaskToAccept } from '../src/tasks/index.ts'
import { addApplication, useDatabase } from './setup.ts'

const db = useDatabase({ max: 3 })
let appId: string
beforeAll(async () => {
  appId = await addApplication(db)
})
afterEach(() => {
  jest.restoreAllMocks()
})

const entry = (requestId?: string): TaskToAccept => ({
  task: {
    appId,
    requestId,
    audience: { kind: 'all' },
    strategy: 'nativepush_only',
    sequence: [],
    message: sampleMessage(),
    ttl: 100,
  },
  plan: { batches: [], inbox: [], unreachable: 1 },
  mayRelease: () => true,
})
const lost = () => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
type Statement = { name: string; text: string; values: unknown[] }

/** The database, with the result of `replace` for the statement of this name. */
function replacing(
  name: string,
  replace: (run: () => Promise<unknown>, time: number) => Promise<unknown>,
): Database {
  let times = 0
  const query = (statement: Statement) => {
    const run = () => db.pool.query(statement) as Promise<unknown>
    return statement.name === name ? replace(run, ++times) : run()
  }
  return { ...db, pool: { query } } as unknown as Database
}
const count = async () =>
  (await db.pool.query<{ count: number }>('SELECT count(*)::int FROM task')).rows[0]!.count

describe('an accept whose reply is lost', () => {
  it('finds the tasks when it was committed, and writes nothing twice', async () => {
    const before = await count()
    const pool = replacing('accept', async (run, time) => {
      const result = await run()
      if (time === 1) throw lost()
      return result
    })
    const accepted = await acceptTasks(pool, [entry(), entry('named'), entry()])
    expect(accepted.map(({ fresh }) => fresh)).toEqual([true, true, true])
    expect(await count()).toBe(before + 3)
    const { rows } = await db.pool.query('SELECT request_id FROM task WHERE id = $1', [accepted[1]!.taskId])
    expect(rows).toEqual([{ request_id: 'named' }])
  })

  it('is repeated when it was not', async () => {
    const before = await count()
    const pool = replacing('accept', (run, time) => (time === 1 ? Promise.reject(lost()) : run()))
    await acceptTasks(pool, [entry()])
    expect(await count()).toBe(before + 1)
  })

  it('is in doubt when Postgres does not come back', async () => {
    const now = performance.now()
    let asked = 0
    jest.spyOn(performance, 'now').mockImplementation(() => now + 6_000 * asked++)
    const pool = replacing('accept', () => Promise.reject(lost()))
    await expect(acceptTasks(pool, [entry()])).rejects.toBeInstanceOf(AcceptInDoubt)
  })

  it('stays in doubt when another error follows, and when the written tasks cannot be read', async () => {
    const full = Object.assign(new Error('no space left'), { code: '53100' })
    const fails = replacing('accept', (_, time) => Promise.reject(time === 1 ? lost() : full))
    await expect(acceptTasks(fails, [entry()])).rejects.toBeInstanceOf(AcceptInDoubt)

    const written = replacing('accept', async (run) => {
      await run()
      throw lost()
    })
    const query = (statement: Statement) =>
      statement.name === 'tasks-written'
        ? Promise.reject(new Error('a defect'))
        : written.pool.query(statement)
    const unread = { ...db, pool: { query } } as unknown as Database
    await expect(acceptTasks(unread, [entry()])).rejects.toBeInstanceOf(AcceptInDoubt)
  })

  it('is not in doubt when Postgres refused the connection', async () => {
    const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
    const pool = replacing('accept', () => Promise.reject(refused))
    await expect(acceptTasks(pool, [entry()])).rejects.toBe(refused)
  })
})

it('accepts the others when a used request id cannot be looked up', async () => {
  await acceptTasks(db, [entry('again')])
  const pool = replacing('find-requests', () => Promise.reject(new Error('a defect')))
  await expect(acceptTasks(pool, [entry(), entry('again')])).rejects.toMatchObject({
    accepted: [expect.objectContaining({ fresh: true }), undefined],
  })
})
