import { until } from '@herald/testkit'
import { sampleMessage } from '@herald/testkit/sample-message'
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
const bundledEntry = (device: number, requestId?: string): TaskToAccept => ({
  ...entry(requestId),
  plan: {
    batches: [{ channel: 'fcm', certificateId: 1, recipients: [device], tried: [] }],
    inbox: [],
    unreachable: 0,
  },
  mayBundle: true,
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
  /** The database; the first reply to the statement of this name is lost after the commit. */
  function losingReply(name: string): { pool: Database; times: () => number } {
    let times = 0
    const pool = replacing(name, async (run, time) => {
      times = time
      const result = await run()
      if (time === 1) throw lost()
      return result
    })
    return { pool, times: () => times }
  }
  const requestsOf = async (taskIds: number[]) => {
    const { rows } = await db.pool.query(
      'SELECT t.request_id AS id FROM unnest($1::bigint[]) WITH ORDINALITY AS a (id, n) JOIN task t USING (id) ORDER BY n',
      [taskIds],
    )
    return rows.map(({ id }) => id)
  }

  it.each([
    ['accept', [undefined, undefined]],
    ['accept-requests', [undefined, 'one of three', undefined]],
    ['accept-requests', ['all', 'have', 'ids']],
  ])('of %s finds the tasks when it was committed, and writes nothing twice', async (name, requestIds) => {
    const before = await count()
    const { pool, times } = losingReply(name)
    const accepted = await acceptTasks(
      pool,
      requestIds.map((id) => entry(id)),
    )
    expect(times()).toBe(2)
    expect(accepted.map(({ fresh }) => fresh)).toEqual(requestIds.map(() => true))
    expect(await count()).toBe(before + requestIds.length)
    expect(await requestsOf(accepted.map(({ taskId }) => taskId))).toEqual(requestIds.map((id) => id ?? null))
  })

  it.each([
    ['accept-bundled', [undefined, undefined]],
    ['accept-bundled-requests', [undefined, 'a bundled one']],
    ['accept-bundled-requests', ['bundled', 'with', 'names']],
  ])('of %s finds the tasks of its bundle', async (name, requestIds) => {
    const before = await count()
    const { pool, times } = losingReply(name)
    const accepted = await acceptTasks(
      pool,
      requestIds.map((id, n) => bundledEntry(n + 1, id)),
    )
    expect(times()).toBe(2)
    expect(accepted.map(({ fresh, released }) => [fresh, released])).toEqual(requestIds.map(() => [true, []]))
    expect(await count()).toBe(before + requestIds.length)
    expect(await requestsOf(accepted.map(({ taskId }) => taskId))).toEqual(requestIds.map((id) => id ?? null))
  })

  it('tells its own tasks from earlier ones with the same request ids', async () => {
    const [earlier] = await acceptTasks(db, [entry('earlier')])
    const { pool } = losingReply('accept-requests')
    const [own, repeated] = await acceptTasks(pool, [entry('own'), entry('earlier')])
    expect(own).toMatchObject({ fresh: true })
    expect(repeated).toEqual({ taskId: earlier!.taskId, fresh: false, released: [] })
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
      statement.name.startsWith('tasks-written@')
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

it('repeats an accept that deadlocks with another transaction', async () => {
  const other = await db.pool.connect()
  // No statement of another spec may meet the trigger instead of the accept.
  await until(async () => {
    const { rows } = await db.pool.query<{ busy: number }>(
      `SELECT count(*)::int AS busy FROM pg_stat_activity
       WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()`,
    )
    return rows[0]!.busy === 0
  })
  const ours = `locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
  // The accept holds lock 1 and asks for lock 2 when the other transaction, which holds 2, waits for 1. The accept is the one that
  // notices the deadlock, because the other looks after an hour.
  await db.pool.query(
    `CREATE FUNCTION collide() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       PERFORM pg_advisory_xact_lock(4712, 1);
       WHILE EXISTS (SELECT FROM pg_locks WHERE ${ours} AND classid = 4712 AND objid = 2 AND granted AND pid <> pg_backend_pid())
         AND NOT EXISTS (SELECT FROM pg_locks WHERE ${ours} AND classid = 4712 AND objid = 1 AND NOT granted)
       LOOP PERFORM pg_sleep(0.01); END LOOP;
       PERFORM pg_advisory_xact_lock(4712, 2);
       RETURN NEW;
     END $$;
     CREATE TRIGGER collide BEFORE INSERT ON task FOR EACH ROW EXECUTE FUNCTION collide()`,
  )
  try {
    await other.query(`BEGIN; SET LOCAL deadlock_timeout = '1h'; SELECT pg_advisory_xact_lock(4712, 2)`)
    const holds = `SELECT FROM pg_locks WHERE ${ours} AND classid = 4712 AND objid = $1 AND granted`
    const errors: unknown[] = []
    const watched = replacing('accept', (run) =>
      run().catch((error) => {
        errors.push(error.code)
        throw error
      }),
    )
    const [accepted] = await Promise.all([
      acceptTasks(watched, [entry()]),
      until(async () => (await db.pool.query(holds, [1])).rowCount === 1).then(() =>
        other.query('SELECT pg_advisory_xact_lock(4712, 1); COMMIT'),
      ),
    ])
    expect([accepted[0]!.fresh, errors]).toEqual([true, ['40P01']])
  } finally {
    other.release()
    await db.pool.query('DROP TRIGGER collide ON task; DROP FUNCTION collide()')
  }
})
