import { createSealer, type Database } from '@herald/db/store'
import type { NewTask } from '@herald/domain'
import type { PushQueues } from '@herald/queue'
import { until } from '@herald/testkit'
import { sampleMessage } from '@herald/testkit/sample-message'
import { addApplication, addCertificate } from '@herald/testkit/sample-tenant'
import { stubChannel } from '@herald/testkit/stub-channel'
import { useDatabase } from '@herald/testkit/use-database'
import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { AcceptorFull, createAcceptor, createCertificateCache } from '../src/index.ts'

const db = useDatabase()
let appId: string
const sealer = createSealer(Buffer.alloc(32))
beforeAll(async () => {
  appId = await addTenant('accepting')
})

/** Creates an application with a device on OPPO. */
async function addTenant(name: string): Promise<string> {
  const application = await addApplication(db, name)
  await addCertificate(db, application, 'oppo', { name: 'oppo', appId: 'a', appKey: 'k', appSecret: 's' })
  await db.pool.query(
    `WITH made AS (INSERT INTO device (app_id, guid, push_token, platform) VALUES ($1, 'g', $2, 'android') RETURNING id)
     INSERT INTO binding (device_id, channel, app_id, token) SELECT id, 'oppo', $1, 'token' FROM made`,
    [application, `p-${name}`],
  )
  return application
}

/** The statement that commits tasks has a name for each kind of commit. */
const isAccept = ({ name }: { name?: string }) => name !== undefined && /^accept(-|$)/.test(name)

const open = (through: Database = db, queues: Partial<PushQueues> = {}) =>
  createAcceptor({
    db: through,
    queues: { add: async () => {}, ahead: async () => 0, ...queues } as PushQueues,
    certificates: createCertificateCache({
      db,
      sealer,
      adapters: { oppo: stubChannel('oppo', { url: 'http://127.0.0.1:1' }) },
    }),
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

describe('a begin time', () => {
  afterEach(() => {
    jest.restoreAllMocks()
  })

  const HOUR = 3600
  it.each([
    ['an hour ahead', HOUR],
    ['an hour behind', -HOUR],
    ['right', 0],
  ])('is compared with the clock of Postgres, while that of this host is %s', async (_name, offset) => {
    const real = Date.now()
    jest.spyOn(Date, 'now').mockImplementation(() => real + offset * 1000)
    const acceptor = open()
    const later = Math.floor(real / 1000) + HOUR / 2
    const accepted = await Promise.all(
      [later, later - HOUR].map((showBegin) =>
        acceptor.accept(task({ message: { ...sampleMessage(), showBegin } })),
      ),
    )
    const { rows } = await db.pool.query(
      `SELECT state, extract(epoch FROM begin_at)::int = $2 AS "asAsked", begin_at = created_at AS "atOnce"
       FROM task WHERE id = ANY($1) ORDER BY begin_at DESC`,
      [accepted.map(({ taskId }) => taskId), later],
    )
    expect(rows).toEqual([
      { state: 'accepted', asAsked: true, atOnce: false },
      { state: 'accepted', asAsked: false, atOnce: true },
    ])
    await acceptor.close()
  })
})

/** The states of the batches or bundles of tasks; `waiting`: in a bundle without a job. */
const statesOf = async (tasks: { taskId: number }[]) =>
  (
    await db.pool.query<{ state: string }>(
      `SELECT state FROM (
         SELECT task_id, state FROM batch WHERE task_id = ANY($1)
         UNION ALL SELECT t.id, CASE WHEN b.lease_until = 'infinity' THEN 'waiting' ELSE b.state END FROM task t JOIN bundle b ON b.task_id = t.bundle WHERE t.id = ANY($1) AND t.state = 'bundled'
       ) s ORDER BY task_id`,
      [tasks.map(({ taskId }) => taskId)],
    )
  ).rows.map(({ state }) => state)

describe('an acceptor', () => {
  it('resolves when the task is committed', async () => {
    const acceptor = open()
    const { taskId } = await acceptor.accept(task())
    expect(await known(taskId)).toBe(true)
    await acceptor.close()
  })

  it('rejects when it is not', async () => {
    const query = (statement: { name: string; text: string }) =>
      isAccept(statement)
        ? Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))
        : db.pool.query(statement)
    const acceptor = open({ ...db, pool: { query } } as unknown as Database)
    await expect(acceptor.accept(task())).rejects.toThrow('ECONNREFUSED')
    await acceptor.close()
  })

  it('leaves small pushes to the feeder while their queue is long', async () => {
    let ahead = 0
    let added = 0
    const acceptor = open(db, {
      ahead: async () => ahead,
      async add() {
        added++
      },
    })
    const push = async () => {
      const { taskId } = await acceptor.accept(task({ strategy: 'ospush_only', sequence: ['oppo'] }))
      return statesOf([{ taskId }])
    }
    expect(await push()).toEqual(['released'])
    ahead = 64
    await until(async () => (await push())[0] === 'ready')
    const before = added
    expect(await push()).toEqual(['ready'])
    expect(added).toBe(before)
    await acceptor.close()
  })

  it('leaves the pushes of a busy application to the feeder while a few jobs wait, not those of others', async () => {
    // Time stands still, so that no push is due to the time that the spec takes.
    jest.spyOn(performance, 'now').mockReturnValue(performance.now())
    const acceptor = open(db, { ahead: async () => 4 })
    const pushTo = (app: string) =>
      acceptor.accept(task({ appId: app, strategy: 'ospush_only', sequence: ['oppo'] }))
    const other = await addTenant('quiet')
    const flood = await Promise.all(Array.from({ length: 400 }, () => pushTo(appId)))
    const states = await statesOf(flood)
    expect(states.filter((state) => state === 'released').length).toBeGreaterThan(0)
    expect(states.filter((state) => state === 'waiting' || state === 'ready').length).toBeGreaterThanOrEqual(
      200,
    )
    // A commit with more than a few of them writes no batches.
    expect(states).toContain('waiting')
    expect(await statesOf([await pushTo(appId)])).toEqual(['ready'])
    expect(await statesOf([await pushTo(other)])).toEqual(['released'])
    await acceptor.close()
    jest.restoreAllMocks()
  })

  it('commits the request of an application with the next group, however many of another wait', async () => {
    const groups: string[][] = []
    const commits = Array.from({ length: 1000 }, () => Promise.withResolvers<void>())
    const query = async (statement: { name: string; text: string; values?: unknown[] }) => {
      if (isAccept(statement)) {
        groups.push(JSON.parse(String(statement.values?.[0])).map(({ app_id }: { app_id: string }) => app_id))
        await commits[groups.length - 1]!.promise
      }
      return db.pool.query(statement)
    }
    const acceptor = open({ ...db, pool: { query } } as unknown as Database)
    const other = await addTenant('patient')
    const flood = Array.from({ length: 1000 }, () => acceptor.accept(task()))
    // As many groups as may be in progress.
    await until(() => groups.length === 3)
    const request = acceptor.accept(task({ appId: other }))
    commits[0]!.resolve()
    await until(() => groups.length === 4)
    expect(groups[3]).toContain(other)
    for (const commit of commits) commit.resolve()
    await Promise.all([request, ...flood])
    expect(groups.length).toBeGreaterThan(10)
    await acceptor.close()
  })

  it('does not let others wait for a group that does not end', async () => {
    const stuck = Promise.withResolvers<void>()
    let commits = 0
    const query = async (statement: { name: string; text: string }) => {
      if (isAccept(statement) && commits++ === 0) await stuck.promise
      return db.pool.query(statement)
    }
    const acceptor = open({ ...db, pool: { query } } as unknown as Database)
    const first = acceptor.accept(task())
    await until(() => commits === 1)
    for (let n = 0; n < 3; n++) expect(await known((await acceptor.accept(task())).taskId)).toBe(true)
    stuck.resolve()
    await first
    await acceptor.close()
  })

  it('closes when the jobs of accepted tasks are added', async () => {
    const added = Promise.withResolvers<void>()
    const acceptor = open(db, { ahead: async () => 0, add: () => added.promise })
    await acceptor.accept(task({ strategy: 'ospush_only', sequence: ['oppo'] }))
    const closing = acceptor.close().then(() => 'closed')
    // A close with nothing to wait for takes fewer turns of the event loop.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(await Promise.race([closing, 'open'])).toBe('open')
    added.resolve()
    expect(await closing).toBe('closed')
  })

  it('does not fail the other requests of a group because of one', async () => {
    const acceptor = open()
    // Postgres cannot store this id; the API refuses it earlier.
    const answers = await Promise.allSettled(
      [task(), task({ requestId: '\u0000' }), task()].map(acceptor.accept),
    )
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    await acceptor.close()
  })

  it('finds the request that Postgres rejects by halves', async () => {
    let statements = 0
    const query = (statement: { name: string; text: string }) => {
      if (isAccept(statement)) statements++
      return db.pool.query(statement)
    }
    const acceptor = open({ ...db, pool: { query } } as unknown as Database)
    const answers = await Promise.allSettled(
      Array.from({ length: 64 }, (_, i) => acceptor.accept(task(i === 40 ? { requestId: '\u0000' } : {}))),
    )
    expect(answers.flatMap(({ status }, i) => (status === 'rejected' ? [i] : []))).toEqual([40])
    // 64, 32, 16, 8, 4, 2 and 1 requests, each with its other half.
    expect(statements).toBeLessThanOrEqual(1 + 2 * 6 + 1)
    await acceptor.close()
  })

  it.each([
    ['read-only', '25006'],
    ['a full disk', '53100'],
    ['out of memory', '53200'],
    ['a cancelled statement', '57014'],
  ])('asks a server in trouble once per group: %s', async (_, code) => {
    let statements = 0
    const query = (statement: { name: string; text: string }) => {
      if (!isAccept(statement)) return db.pool.query(statement)
      statements++
      return Promise.reject(Object.assign(new Error('refused'), { code }))
    }
    const acceptor = open({ ...db, pool: { query } } as unknown as Database)
    const answers = await Promise.allSettled(Array.from({ length: 64 }, () => acceptor.accept(task())))
    expect(answers.every(({ status }) => status === 'rejected')).toBe(true)
    expect(statements).toBeLessThanOrEqual(3)
    await acceptor.close()
  })

  it('refuses the application with the most requests first', async () => {
    const written = Promise.withResolvers<void>()
    const query = async (statement: { name: string; text: string }) => {
      if (isAccept(statement)) await written.promise
      return db.pool.query(statement)
    }
    const acceptor = open({ ...db, pool: { query } } as unknown as Database)
    const apps = [appId, await addTenant('second')]
    const flood = apps.flatMap((app) =>
      Array.from({ length: 4_000 }, () => acceptor.accept(task({ appId: app })).catch((error) => error)),
    )
    const other = await addTenant('third')
    const answers = Array.from({ length: 100 }, () => acceptor.accept(task({ appId: other })))
    written.resolve()
    expect((await Promise.all(answers)).every(({ fresh }) => fresh)).toBe(true)
    expect((await Promise.all(flood)).some((answer) => answer instanceof AcceptorFull)).toBe(true)
    await acceptor.close()
  })

  it('refuses requests while too many wait', async () => {
    const written = Promise.withResolvers<void>()
    const query = async (statement: { name: string; text: string }) => {
      if (isAccept(statement)) await written.promise
      return db.pool.query(statement)
    }
    const acceptor = open({ ...db, pool: { query } } as unknown as Database)
    const answers = Array.from({ length: 6_000 }, () => acceptor.accept(task()).catch((error) => error))
    await expect(acceptor.accept(task())).rejects.toBeInstanceOf(AcceptorFull)
    written.resolve()
    const refused = (await Promise.all(answers)).filter((answer) => answer instanceof AcceptorFull)
    expect(refused.length).toBeGreaterThan(0)
    expect((await acceptor.accept(task())).fresh).toBe(true)
    await acceptor.close()
  })

  it('closes when all requests are answered', async () => {
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
