import { sampleMessage } from '@herald/testkit/sample-message'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  countBalanced,
  findImbalances,
  readBacklog,
  readOverview,
  readSettledTotal,
} from '../src/readings/index.ts'
import type { Database } from '../src/store/index.ts'
import {
  acceptTasks,
  assignBundleBadges,
  cancelTask,
  claimBatches,
  claimBundles,
  countWaitingBundles,
  endLateBundles,
  endLostBundles,
  finishTasks,
  lanesWithUnclaimed,
  leaseTime,
  leaveReleased,
  listTasks,
  mayBundle,
  pauseTask,
  reclaimExpiredLeases,
  recordReceipts,
  releaseBundles,
  renewBundles,
  settleBatches,
  settleBundles,
  type TaskToAccept,
  takeUnclaimedBundles,
  taskDetails,
} from '../src/tasks/index.ts'
import { addApplication, addCertificate, settlementOf, useDatabase } from './setup.ts'

const db = useDatabase({ max: 5 })
let appId: string
let other: string
let certificateId: number
let otherCertificate: number
beforeAll(async () => {
  appId = await addApplication(db)
  other = await addApplication(db)
  certificateId = await addCertificate(db, appId, 'fcm')
  otherCertificate = await addCertificate(db, other, 'fcm')
})
// Each test begins without open bundles of the others.
beforeEach(() => db.pool.query(`UPDATE bundle SET released_at = now()`))
afterEach(async () => expect(await findImbalances(db)).toEqual([]))

let device = 1000
const single = (
  options: { application?: string; requestId?: string; ttl?: number; lane?: 'normal' } = {},
): TaskToAccept => {
  const application = options.application ?? appId
  return {
    task: {
      appId: application,
      requestId: options.requestId,
      audience: { kind: 'all' },
      strategy: 'ospush_only',
      sequence: [],
      message: sampleMessage(),
      ttl: options.ttl ?? 100,
      lane: options.lane,
    },
    plan: {
      batches: [
        {
          channel: 'fcm',
          certificateId: application === appId ? certificateId : otherCertificate,
          recipients: [device++],
          tried: [],
        },
      ],
      inbox: [],
      unreachable: 0,
    },
    mayRelease: () => true,
    mayBundle: true,
  }
}
const lease = (worker: string) => ({ seconds: 30, worker })

async function accept(count = 3) {
  const accepted = await acceptTasks(
    db,
    Array.from({ length: count }, () => single()),
  )
  const [released] = accepted.flatMap((task) => task.released)
  return { tasks: accepted.map(({ taskId }) => taskId), bundle: released!.taskId }
}
const rowOf = async (bundle: number) =>
  (await db.pool.query('SELECT state, status, worker FROM bundle WHERE task_id = $1', [bundle])).rows[0]
const batchesOf = async (taskId: number) =>
  (
    await db.pool.query(
      'SELECT id, state, version, attempts, lost, status, worker FROM batch WHERE task_id = $1',
      [taskId],
    )
  ).rows
const stateOf = async (taskId: number) =>
  (await listTasks(db, { appId }, { limit: 1, before: taskId + 1 })).find((task) => task.taskId === taskId)
const detailsOf = async (taskId: number) => (await taskDetails(db, { appId }, [taskId]))[0]!.counters
const settlePlain = (bundle: number, worker: string, wanted: string, on: Database = db) =>
  settleBundles(on, [{ id: bundle, worker, wanted }])
const expireLeases = () =>
  db.pool.query(`UPDATE bundle SET lease_until = now() - interval '1 second' WHERE state = 'sending'`)

describe('an accept', () => {
  it('writes the single pushes of several applications as one row, and one job', async () => {
    const accepted = await acceptTasks(db, [single(), single({ application: other }), single()])
    const released = accepted.flatMap((task) => task.released)
    expect(released).toEqual([
      expect.objectContaining({
        id: 0,
        channel: 'fcm',
        lane: 'high',
        size: 3,
        certificateIds: expect.arrayContaining([certificateId, otherCertificate]),
      }),
    ])
    const { rows } = await db.pool.query('SELECT tasks, status FROM bundle WHERE task_id = $1', [
      released[0]!.taskId,
    ])
    expect(rows).toEqual([{ tasks: accepted.map(({ taskId }) => taskId), status: '...' }])
    for (const { taskId } of accepted) expect(await batchesOf(taskId)).toEqual([])
    const counters = await db.pool.query('SELECT 1 FROM counter WHERE task_id = ANY($1)', [
      accepted.map(({ taskId }) => taskId),
    ])
    expect(counters.rowCount).toBe(0)
  })

  it('gives a certificate with many pushes a bundle of its own', async () => {
    const entries = [...Array.from({ length: 9 }, () => single()), single({ application: other })]
    const released = (await acceptTasks(db, entries)).flatMap((task) => task.released)
    expect(released.map(({ size, certificateIds }) => [size, certificateIds])).toEqual([
      [9, [certificateId]],
      [1, [otherCertificate]],
    ])
  })

  it('writes at most 64 pushes into a bundle', async () => {
    const accepted = await acceptTasks(
      db,
      Array.from({ length: 150 }, () => single()),
    )
    const released = accepted.flatMap((task) => task.released)
    expect(released.map(({ size }) => size)).toEqual([64, 64, 22])
    const { rows } = await db.pool.query<{ tasks: number[] }>(
      'SELECT tasks FROM bundle WHERE task_id = ANY($1) ORDER BY task_id',
      [released.map(({ taskId }) => taskId)],
    )
    expect(rows.flatMap(({ tasks }) => tasks)).toEqual(accepted.map(({ taskId }) => taskId))
  })

  it('returns the released batches of each task, also of many', async () => {
    const entries = Array.from({ length: 80 }, (_, i) => ({
      ...single(),
      mayBundle: false,
      mayRelease: () => i % 2 === 0,
    }))
    const accepted = await acceptTasks(db, entries)
    accepted.forEach(({ taskId, released }, i) => {
      expect(released).toEqual(
        i % 2 ? [] : [expect.objectContaining({ taskId, id: expect.any(Number), size: 1 })],
      )
    })
  })

  it('leaves out tasks whose request id was used before', async () => {
    const [first] = await acceptTasks(db, [single({ requestId: 'used' })])
    const accepted = await acceptTasks(db, [single({ requestId: 'used' }), single({ requestId: 'new' })])
    expect(accepted.map(({ taskId, fresh }) => [taskId === first!.taskId, fresh])).toEqual([
      [true, false],
      [false, true],
    ])
    const { rows } = await db.pool.query('SELECT tasks FROM bundle WHERE task_id = $1', [
      accepted[1]!.released[0]!.taskId,
    ])
    expect(rows).toEqual([{ tasks: [accepted[1]!.taskId] }])
    await expect(acceptTasks(db, [single({ requestId: 'new' })])).resolves.toEqual([
      { taskId: accepted[1]!.taskId, fresh: false, released: [] },
    ])
  })

  it.each<[string, (entry: TaskToAccept) => TaskToAccept]>([
    ['with a speed', (entry) => ({ ...entry, task: { ...entry.task, speed: 5 } })],
    ['that must wait for the feeder', (entry) => ({ ...entry, mayRelease: () => false })],
    [
      'with a copy',
      (entry) => ({ ...entry, plan: { ...entry.plan!, copies: entry.plan!.batches[0]!.recipients } }),
    ],
    [
      'to two devices',
      (entry) => ({
        ...entry,
        plan: { ...entry.plan!, batches: [{ ...entry.plan!.batches[0]!, recipients: [1, 2] }] },
      }),
    ],
  ])('writes a task %s as a batch', async (_, change) => {
    const [accepted] = await acceptTasks(db, [change(single())])
    expect(await batchesOf(accepted!.taskId)).toHaveLength(1)
  })

  it('stores the same task in a bundle as in a batch, whatever its texts contain', async () => {
    const tasks = [
      {},
      { requestId: 'a "quoted" \\ id, with {braces} and \t a tab', campaign: 'spring', ttl: 0 },
      { requestId: 'NULL', groupId: 7, messageClass: 'service' as const, lane: 'normal' as const },
      { requestId: 'последний', sequence: ['ups', 'fcm'] as const, actor: 'admin', address: '127.0.0.1' },
      {
        message: {
          ...sampleMessage(),
          title: 'a "b" \\ \n {c},NULL \u2028 \ud83d\ude00',
          showEnd: 4_000_000_000,
        },
      },
      { audience: { kind: 'alias' as const, aliases: ['a"b', 'c\\d', '{e,f}'] } },
    ]
    const write = async (suffix: string, mayBundle: boolean) => {
      const accepted = await acceptTasks(
        db,
        tasks.map((change) => {
          const entry = single()
          const requestId = 'requestId' in change ? change.requestId + suffix : undefined
          return { ...entry, mayBundle, task: { ...entry.task, ...change, requestId } as never }
        }),
      )
      const ids = accepted.map(({ taskId }) => taskId)
      const { rows } = await db.pool.query(
        `SELECT to_jsonb(t) - '{id,state,bundle,request_id,begin_at,created_at,check_at,planned_at,speed_at,deadline}'::text[] AS rest,
           replace(request_id, $2, '') AS request_id, audience::text, message::text, deadline - begin_at AS ttl, planned_at = begin_at AS now, state
         FROM task t WHERE id = ANY($1) ORDER BY array_position($1, id)`,
        [ids, suffix],
      )
      return rows as { state: string }[]
    }
    const bundled = await write('-1', true)
    const batched = await write('-2', false)
    expect([...new Set(bundled.map(({ state }) => state))]).toEqual(['bundled'])
    expect([...new Set(batched.map(({ state }) => state))]).toEqual(['sending'])
    const withoutState = (rows: { state: string }[]) => rows.map((row) => ({ ...row, state: undefined }))
    expect(withoutState(bundled)).toEqual(withoutState(batched))
  })

  it('writes the pushes whose request ids are new, and returns the first tasks of the others', async () => {
    const [first] = await acceptTasks(db, [single({ requestId: 'used' })])
    const again = await acceptTasks(db, [
      single({ requestId: 'new-1' }),
      single({ requestId: 'used' }),
      single(),
      single({ requestId: 'new-2' }),
    ])
    expect(again.map(({ fresh }) => fresh)).toEqual([true, false, true, true])
    expect(again[1]!.taskId).toBe(first!.taskId)
    const [released] = again.flatMap((task) => task.released)
    const { rows } = await db.pool.query('SELECT size, tasks FROM bundle WHERE task_id = $1', [
      released!.taskId,
    ])
    const fresh = again.filter((task) => task.fresh).map(({ taskId }) => taskId)
    expect(rows).toEqual([{ size: 3, tasks: fresh.sort((a, b) => a - b) }])
    // Nothing is left of a commit in which no request id is new.
    const [repeated] = await acceptTasks(db, [single({ requestId: 'used' })])
    expect(repeated).toEqual({ taskId: first!.taskId, fresh: false, released: [] })
  })

  it('of single pushes alone touches no table that they do not need', async () => {
    const written: string[][] = []
    const query = (statement: { name: string; text: string }) => {
      if (statement.name.startsWith('accept'))
        written.push([...statement.text.matchAll(/INSERT INTO (\w+)/g)].map(([, table]) => table!))
      return db.pool.query(statement as never)
    }
    const watched = { ...db, pool: { ...db.pool, query } } as unknown as Database
    await acceptTasks(watched, [single(), single()])
    await acceptTasks(watched, [{ ...single(), mayRelease: () => false }])
    await acceptTasks(watched, [single(), { ...single(), mayRelease: () => false }])
    expect(written.slice(0, 2)).toEqual([
      ['task', 'bundle'],
      ['task', 'batch', 'counter'],
    ])
    expect(written[2]).toEqual(expect.arrayContaining(['task', 'bundle', 'batch', 'counter', 'inbox']))
  })

  it('whose reply is lost writes the bundle once, and its job is added by the sweep', async () => {
    let times = 0
    const query = async (statement: { name: string }) => {
      const result = await db.pool.query(statement as never)
      if (statement.name === 'accept-bundled' && ++times === 1)
        throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
      return result
    }
    const [accepted] = await acceptTasks({ ...db, pool: { ...db.pool, query } } as unknown as Database, [
      single(),
    ])
    expect(accepted).toMatchObject({ fresh: true, released: [] })
    const { rows } = await db.pool.query('SELECT task_id AS id FROM bundle WHERE $1 = ANY(tasks)', [
      accepted!.taskId,
    ])
    expect(rows).toHaveLength(1)
    const lost = await takeUnclaimedBundles(
      db,
      { channel: 'fcm', lane: 'high' },
      Date.now() + 3_600_000,
      1000,
    )
    expect(lost).toContainEqual(
      expect.objectContaining({ taskId: rows[0]!.id, size: 1, certificateIds: [certificateId] }),
    )
  })
})

describe('bundles', () => {
  const fresh = () => ({ ...db, pool: { query: db.pool.query.bind(db.pool) } }) as unknown as Database
  const since = async () => (await db.pool.query('SELECT migration FROM compatible_since')).rows[0].migration

  it('are written when no program of the previous release can run, and then none can start', async () => {
    await db.pool.query(`UPDATE compatible_since SET migration = '20261116010000_leads'`)
    await db.pool.query(
      `INSERT INTO upgrade_window (name, until) VALUES ('no-bundles', now() + interval '1 hour')`,
    )
    expect(await mayBundle(fresh())).toBe(false)
    expect(await since()).toBe('20261116010000_leads')
    await db.pool.query(`UPDATE upgrade_window SET until = now() WHERE name = 'no-bundles'`)
    expect(await mayBundle(fresh())).toBe(true)
    expect(await since()).toBe('20261119000000_bundles')
  })
})

describe('pushes for which the queue is too long', () => {
  /** As many pushes of one commit, and the bundles in which they wait. */
  async function acceptWaiting(count: number, options: Parameters<typeof single>[0] = {}) {
    const entries = Array.from({ length: count }, () => ({
      ...single(options),
      mayRelease: () => false,
      mayWaitInBundle: () => true,
    }))
    const accepted = await acceptTasks(db, entries)
    expect(accepted.flatMap(({ released }) => released)).toEqual([])
    const tasks = accepted.map(({ taskId }) => taskId)
    const { rows } = await db.pool.query<{ id: number; size: number }>(
      `SELECT DISTINCT b.task_id AS id, b.size FROM task t JOIN bundle b ON b.task_id = t.bundle
       WHERE t.id = ANY($1) AND t.state = 'bundled' ORDER BY 1`,
      [tasks],
    )
    return { tasks, bundles: rows.map(({ id }) => id), sizes: rows.map(({ size }) => size) }
  }
  /** Of this describe block: what other specs left in flight must not count. */
  const settleAll = () =>
    db.pool.query(
      `UPDATE bundle SET state = 'settled', lease_until = NULL, status = replace(status, '.', 's') WHERE state <> 'settled'`,
    )
  beforeEach(settleAll)
  const release = async (pushes: number) =>
    (await releaseBundles(db, { batches: pushes })).released.map(({ taskId }) => taskId)

  it('wait for the feeder in bundles of their certificate, without a job', async () => {
    const { tasks, bundles, sizes } = await acceptWaiting(70)
    expect(sizes).toEqual([64, 6])
    expect(await countWaitingBundles(db)).toBe(2)
    for (const taskId of tasks.slice(0, 2)) {
      expect(await batchesOf(taskId)).toEqual([])
      expect(await stateOf(taskId)).toMatchObject({ state: 'sending', pending: 1, target: 1, sent: 0 })
    }
    // The sweep does not take them for bundles whose job was lost.
    await db.pool.query(
      `UPDATE bundle SET released_at = now() - interval '2 hours' WHERE task_id = ANY($1)`,
      [bundles],
    )
    expect(await lanesWithUnclaimed(db, 3600)).toEqual([])
    expect(
      await takeUnclaimedBundles(db, { channel: 'fcm', lane: 'high' }, Date.now() + 3_600_000, 1000),
    ).toEqual([])
    expect((await releaseBundles(db, { batches: 400 })).released).toEqual([
      expect.objectContaining({
        taskId: bundles[0],
        channel: 'fcm',
        size: 64,
        certificateIds: [certificateId],
      }),
      expect.objectContaining({ taskId: bundles[1], size: 6 }),
    ])
    expect(await countWaitingBundles(db)).toBe(0)
    expect(await releaseBundles(db, { batches: 400 })).toEqual({ released: [], more: false, certificates: 0 })
    // From now on a job that is lost is added again.
    const lost = await takeUnclaimedBundles(db, { channel: 'fcm', lane: 'high' }, Date.now() + 3_600_000, 10)
    expect(lost.map(({ taskId }) => taskId).sort()).toEqual(bundles)
    expect(await claimBundles(db.pool, 'fcm', bundles, lease('a'))).toHaveLength(70)
  })

  it('wait in batches if they are few, or if too many bundles wait', async () => {
    const { tasks, bundles } = await acceptWaiting(8)
    expect(bundles).toEqual([])
    expect(await batchesOf(tasks[0]!)).toEqual([expect.objectContaining({ state: 'ready' })])
    const full = Array.from({ length: 20 }, () => ({
      ...single(),
      mayRelease: () => false,
      mayWaitInBundle: () => false,
    }))
    const [first] = await acceptTasks(db, full)
    expect(await batchesOf(first!.taskId)).toEqual([expect.objectContaining({ state: 'ready' })])
  })

  it('are in other bundles than those of the same commit that may be released', async () => {
    const entries = Array.from({ length: 20 }, (_, i) => ({
      ...single(),
      mayRelease: () => i % 2 === 0,
      mayWaitInBundle: () => true,
    }))
    const released = (await acceptTasks(db, entries)).flatMap((task) => task.released)
    expect(released.map(({ size }) => size)).toEqual([10])
    expect(await countWaitingBundles(db)).toBe(1)
  })

  it('are released up to a window of each certificate, one of each in turn', async () => {
    const first = await acceptWaiting(64 * 5)
    const second = await acceptWaiting(64 * 2, { application: other })
    const [a, b, c, d] = first.bundles
    expect(await release(100)).toEqual([a, second.bundles[0], b, second.bundles[1]])
    // 128 of each are in flight.
    expect(await releaseBundles(db, { batches: 128 })).toEqual({ released: [], more: true, certificates: 1 })
    expect(await release(129)).toEqual([c])
    await claimBundles(db.pool, 'fcm', [a!], lease('a'))
    expect(await release(192)).toEqual([])
    await settlePlain(a!, 'a', 's'.repeat(64))
    expect(await release(192)).toEqual([d])
  })

  it('are released four of the high lane for one of the normal lane', async () => {
    const normal = await acceptWaiting(64 * 2, { lane: 'normal' })
    const high = await acceptWaiting(64 * 6)
    const [n1] = normal.bundles
    const [h1, h2, h3, h4, h5] = high.bundles
    expect(await release(64 * 5)).toEqual([h1, h2, h3, expect.anything(), expect.anything()])
    expect(await release(64 * 6)).toEqual([h5])
    for (const id of [n1, h4])
      expect((await db.pool.query('SELECT lease_until FROM bundle WHERE task_id = $1', [id])).rows).toEqual([
        { lease_until: null },
      ])
  })

  it('are released by one of two feeders', async () => {
    const { bundles } = await acceptWaiting(64 * 3)
    const both = await Promise.all([release(400), release(400)])
    expect(both.flat().sort()).toEqual(bundles)
  })

  it('can be paused, cancelled and expire while they wait', async () => {
    const { tasks, bundles } = await acceptWaiting(10)
    await pauseTask(db, { appId }, tasks[0]!)
    expect(await batchesOf(tasks[0]!)).toHaveLength(1)
    await cancelTask(db, { appId }, tasks[1]!)
    expect(await batchesOf(tasks[1]!)).toHaveLength(1)
    expect(await rowOf(bundles[0]!)).toMatchObject({ state: 'released', status: 'mm........' })
    await db.pool.query('UPDATE bundle SET deadline = now() WHERE task_id = $1', [bundles[0]])
    expect(await endLateBundles(db)).toBe(8)
    expect(await countWaitingBundles(db)).toBe(0)
    expect(await batchesOf(tasks[2]!)).toEqual([expect.objectContaining({ state: 'ready' })])
  })
})

describe('a claim', () => {
  it('returns the pending tasks with all that is stored of them', async () => {
    const { tasks, bundle } = await accept(2)
    const singles = await claimBundles(db.pool, 'fcm', [bundle], lease('a'))
    expect(singles).toEqual(
      tasks.map((taskId, i) => ({
        batch: expect.objectContaining({
          taskId,
          id: 0,
          version: 1,
          appId,
          certificateId,
          status: '.',
          bundle: { id: bundle, n: i + 1, size: 2, worker: 'a' },
        }),
        task: expect.objectContaining({ taskId, appId, message: sampleMessage() }),
      })),
    )
  })

  it('is given to one of two workers, and again to the same after a lost reply', async () => {
    const { bundle } = await accept()
    const both = await Promise.all(
      ['a', 'b'].map((name) => claimBundles(db.pool, 'fcm', [bundle], lease(name))),
    )
    expect(both.map((singles) => singles.length).sort()).toEqual([0, 3])
    const winner = both[0]!.length > 0 ? 'a' : 'b'
    expect(await claimBundles(db.pool, 'fcm', [bundle], lease(winner))).toHaveLength(3)
  })

  it('takes no bundle of another channel, none that is settled and none past a deadline', async () => {
    const { bundle } = await accept()
    expect(await claimBundles(db.pool, 'apns', [bundle], lease('a'))).toEqual([])
    await db.pool.query(`UPDATE bundle SET deadline = now() WHERE task_id = $1`, [bundle])
    expect(await claimBundles(db.pool, 'fcm', [bundle], lease('a'))).toEqual([])
    await db.pool.query(`UPDATE bundle SET deadline = now() + interval '1 hour' WHERE task_id = $1`, [bundle])
    await claimBundles(db.pool, 'fcm', [bundle], lease('a'))
    await settlePlain(bundle, 'a', 'sss')
    expect(await claimBundles(db.pool, 'fcm', [bundle], lease('a'))).toEqual([])
  })

  it('gives each task the same badge when it is repeated', async () => {
    const { bundle } = await accept(2)
    const singles = await claimBundles(db.pool, 'fcm', [bundle], lease('a'))
    const requests = singles.map(({ batch }, i) => ({
      bundle: batch.bundle!,
      badge: i === 0 ? ({ kind: 'set', count: 7 } as const) : ({ kind: 'add', count: 2 } as const),
    }))
    const first = await assignBundleBadges(db.pool, requests)
    expect(first).toEqual([7, 2])
    expect(await assignBundleBadges(db.pool, requests)).toEqual(first)
    await expireLeases()
    await endLostBundles(db, await leaseTime(db))
    const { rows } = await db.pool.query(
      'SELECT badges FROM batch WHERE task_id = ANY($1) ORDER BY task_id',
      [singles.map(({ batch }) => batch.taskId)],
    )
    expect(rows).toEqual([{ badges: [7] }, { badges: [2] }])
  })
})

describe('a settle', () => {
  it('of accepted tasks writes their letters and nothing else', async () => {
    const { tasks, bundle } = await accept()
    expect(await stateOf(tasks[0]!)).toMatchObject({ state: 'sending', pending: 1, target: 1, sent: 0 })
    await claimBundles(db.pool, 'fcm', [bundle], lease('a'))
    expect(await settlePlain(bundle, 'a', 's.s')).toEqual(new Map([[bundle, 's.s']]))
    expect(await rowOf(bundle)).toMatchObject({ state: 'sending', status: 's.s' })
    expect(await stateOf(tasks[0]!)).toMatchObject({ state: 'finished', pending: 0, target: 1, sent: 1 })
    expect(await stateOf(tasks[1]!)).toMatchObject({ state: 'sending', pending: 1 })
    await settlePlain(bundle, 'a', '.s.')
    expect(await rowOf(bundle)).toMatchObject({ state: 'settled', status: 'sss' })
    expect(await stateOf(tasks[1]!)).toMatchObject({ state: 'finished', finishedAt: expect.any(Date) })
    expect(await detailsOf(tasks[1]!)).toEqual({ fcm: { target: 1, sent: 1, received: 0 } })
    const { rows } = await db.pool.query('SELECT state, xmax::text FROM task WHERE id = ANY($1)', [tasks])
    expect(rows).toEqual(tasks.map(() => ({ state: 'bundled', xmax: '0' })))
  })

  it('gives the other tasks batches of the same claim, which are settled like any', async () => {
    const { tasks, bundle } = await accept()
    await claimBundles(db.pool, 'fcm', [bundle], lease('a'))
    expect(await settlePlain(bundle, 'a', 'sms')).toEqual(new Map([[bundle, 'sms']]))
    const [task] = [tasks[1]!]
    expect(await batchesOf(task)).toEqual([
      { id: 0, state: 'sending', version: 1, attempts: 1, lost: 0, status: '.', worker: 'a' },
    ])
    expect(await stateOf(task)).toMatchObject({ state: 'sending', target: 1, pending: 1 })
    await settleBatches(db, [
      settlementOf({ taskId: task, id: 0, version: 1 }, { status: 'f', state: 'settled', failed: 1 }),
    ])
    await finishTasks(db)
    expect(await stateOf(task)).toMatchObject({ state: 'finished', failed: 1, pending: 0 })
  })

  it('whose reply was lost can be repeated', async () => {
    const { tasks, bundle } = await accept()
    await claimBundles(db.pool, 'fcm', [bundle], lease('a'))
    const first = await settlePlain(bundle, 'a', 'smm')
    expect(await settlePlain(bundle, 'a', 'smm')).toEqual(first)
    expect(await batchesOf(tasks[1]!)).toHaveLength(1)
  })

  it('writes nothing after its lease has ended, and the tasks are sent by others', async () => {
    const { tasks, bundle } = await accept()
    await claimBundles(db.pool, 'fcm', [bundle], lease('a'))
    await settlePlain(bundle, 'a', 's..')
    await expireLeases()
    await endLostBundles(db, await leaseTime(db))
    expect(await settlePlain(bundle, 'a', '.ss')).toEqual(new Map())
    const leased = tasks.map((taskId) => ({ taskId, bundle: { id: bundle, worker: 'a' } }))
    expect(await renewBundles(db, leased, 30)).toEqual(new Set())
    expect(await rowOf(bundle)).toMatchObject({ state: 'settled', status: 'smm', worker: null })
    expect(await batchesOf(tasks[1]!)).toEqual([
      { id: 0, state: 'ready', version: 2, attempts: 1, lost: 1, status: '.', worker: null },
    ])
    expect(await stateOf(tasks[0]!)).toMatchObject({ state: 'finished' })
    // The batches that the late worker would write have another version.
    const late = settlementOf(
      { taskId: tasks[1]!, id: 0, version: 1 },
      { status: 's', state: 'settled', sent: 1 },
    )
    expect((await settleBatches(db, [late])).settled).toEqual(new Set())
  })

  it('that is lost between its two statements leaves batches whose lease ends', async () => {
    const { tasks, bundle } = await accept()
    await claimBundles(db.pool, 'fcm', [bundle], lease('a'))
    await settlePlain(bundle, 'a', 'ssm')
    const { rows } = await db.pool.query(
      'SELECT lease_until > now() AS leased FROM batch WHERE task_id = $1',
      [tasks[2]],
    )
    expect(rows).toEqual([{ leased: true }])
  })
})

describe('a bundle that no worker takes', () => {
  it('has its job added again', async () => {
    const { bundle } = await accept()
    await db.pool.query(`UPDATE bundle SET released_at = now() - interval '1 minute' WHERE task_id = $1`, [
      bundle,
    ])
    const where = { channel: 'fcm', lane: 'high' } as const
    const lost = await takeUnclaimedBundles(db, where, Date.now() - 30_000, 10)
    expect(lost.map(({ taskId }) => taskId)).toEqual([bundle])
    expect(await takeUnclaimedBundles(db, where, Date.now() - 30_000, 10)).toEqual([])
  })

  it('ends at its first deadline: its tasks wait as batches', async () => {
    const { tasks, bundle } = await accept(2)
    await db.pool.query(`UPDATE bundle SET deadline = now() WHERE task_id = $1`, [bundle])
    expect(await endLateBundles(db)).toBe(2)
    expect(await batchesOf(tasks[0]!)).toMatchObject([{ state: 'ready', version: 0, attempts: 0 }])
    expect(await claimBundles(db.pool, 'fcm', [bundle], lease('a'))).toEqual([])
  })

  it('is left by the tasks of a certificate that has to wait', async () => {
    const accepted = await acceptTasks(db, [single(), single({ application: other })])
    const bundle = accepted[0]!.released[0]!.taskId
    await leaveReleased(db, [bundle], [certificateId], 5)
    expect(await rowOf(bundle)).toMatchObject({ state: 'released', status: 'm.' })
    const claimed = await claimBundles(db.pool, 'fcm', [bundle], lease('a'))
    expect(claimed.map(({ task }) => task.taskId)).toEqual([accepted[1]!.taskId])
    await leaveReleased(db, [bundle], [otherCertificate], 5)
    expect(await rowOf(bundle)).toMatchObject({ state: 'sending', status: 'm.' })
  })

  it('is counted in the backlog', async () => {
    await accept(2)
    const { open } = await readBacklog(db)
    const released = open.find(({ channel, state }) => channel === 'fcm' && state === 'released')
    expect(released?.recipients).toBeGreaterThanOrEqual(2)
  })
})

describe('a task in a bundle', () => {
  it('that is cancelled before the claim is not sent', async () => {
    const { tasks, bundle } = await accept()
    expect(await cancelTask(db, { appId }, tasks[1]!)).toBe('ok')
    const claimed = await claimBundles(db.pool, 'fcm', [bundle], lease('a'))
    expect(claimed.map(({ task }) => task.taskId)).toEqual([tasks[0], tasks[2]])
    expect(await stateOf(tasks[1]!)).toMatchObject({ state: 'cancelling' })
  })

  it('that is cancelled while it is sent is settled by the same claim', async () => {
    const { tasks, bundle } = await accept()
    await claimBundles(db.pool, 'fcm', [bundle], lease('a'))
    expect(await cancelTask(db, { appId }, tasks[1]!)).toBe('ok')
    expect(await batchesOf(tasks[1]!)).toMatchObject([{ state: 'sending', version: 1, worker: 'a' }])
    const leased = tasks.map((taskId) => ({ taskId, bundle: { id: bundle, worker: 'a' } }))
    expect(await renewBundles(db, leased, 30)).toEqual(new Set(tasks))
    // Also if the leases have expired, until they are reclaimed.
    await expireLeases()
    await db.pool.query(`UPDATE batch SET lease_until = now() - interval '1 second' WHERE task_id = $1`, [
      tasks[1],
    ])
    expect(await renewBundles(db, leased, 30)).toEqual(new Set(tasks))
    await endLostBundles(db, await leaseTime(db))
    await reclaimExpiredLeases(db, await leaseTime(db))
    // The worker knows nothing of it: the letter tells it to settle the batch.
    expect(await settlePlain(bundle, 'a', 'sss')).toEqual(new Map([[bundle, 'sms']]))
    const sent = settlementOf(
      { taskId: tasks[1]!, id: 0, version: 1 },
      { status: 's', state: 'settled', sent: 1 },
    )
    expect((await settleBatches(db, [sent])).settled.size).toBe(1)
    await finishTasks(db)
    expect(await stateOf(tasks[1]!)).toMatchObject({ state: 'cancelled', sent: 1 })
  })

  it('that has been sent can no longer be changed', async () => {
    const { tasks, bundle } = await accept(1)
    await claimBundles(db.pool, 'fcm', [bundle], lease('a'))
    await settlePlain(bundle, 'a', 's')
    expect(await cancelTask(db, { appId }, tasks[0]!)).toBe('finished')
    expect(await pauseTask(db, { appId }, tasks[0]!)).toBe('finished')
    expect(await cancelTask(db, { appId: other }, tasks[0]!)).toBe('unknown')
  })

  it('that is paused is not claimed', async () => {
    const { tasks, bundle } = await accept(1)
    expect(await pauseTask(db, { appId }, tasks[0]!)).toBe('ok')
    expect(await claimBundles(db.pool, 'fcm', [bundle], lease('a'))).toEqual([])
    const key = {
      channel: 'fcm' as const,
      certificateIds: [certificateId],
      batches: [{ taskId: tasks[0]!, id: 0 }],
    }
    await db.pool.query(`UPDATE batch SET state = 'released' WHERE task_id = $1`, [tasks[0]])
    expect(await claimBatches(db.pool, key, lease('a'))).toEqual([])
    expect(await stateOf(tasks[0]!)).toMatchObject({ state: 'paused' })
  })

  it.each(['cancel', 'claim'])(
    'is either cancelled or claimed, whichever comes first (%s)',
    async (first) => {
      const { tasks, bundle } = await accept(1)
      const acts = [
        () => cancelTask(db, { appId }, tasks[0]!),
        () => claimBundles(db.pool, 'fcm', [bundle], lease('a')),
      ]
      if (first === 'claim') acts.reverse()
      await Promise.all(acts.map((act) => act()))
      const batches = await batchesOf(tasks[0]!)
      expect(batches).toHaveLength(1)
      const { worker } = await rowOf(bundle)
      expect(batches[0]).toMatchObject(worker ? { state: 'sending', worker: 'a' } : { state: 'ready' })
    },
  )

  it('gets its receipts, also before the settle and after it left', async () => {
    const { tasks, bundle } = await accept(2)
    const singles = await claimBundles(db.pool, 'fcm', [bundle], lease('a'))
    const receipts = singles.map(({ batch }) => ({
      appId,
      taskId: batch.taskId,
      deviceId: batch.recipients[0]!,
      event: 'received' as const,
    }))
    expect(await recordReceipts(db, [receipts[0]!, { ...receipts[0]!, channel: 'fcm' }])).toBe(1)
    expect(await recordReceipts(db, [{ ...receipts[0]!, channel: 'apns' }])).toBe(0)
    expect(await recordReceipts(db, [{ ...receipts[1]!, deviceId: 1 }])).toBe(0)
    await settlePlain(bundle, 'a', 's.')
    expect(await detailsOf(tasks[0]!)).toEqual({ fcm: { target: 1, sent: 1, received: 1 } })
    expect(await recordReceipts(db, [receipts[0]!])).toBe(0)
    await Promise.all([settlePlain(bundle, 'a', '.m'), recordReceipts(db, [receipts[1]!])])
    expect(await detailsOf(tasks[1]!)).toEqual({ fcm: { target: 1, sent: 0, received: 1 } })
  })

  it.each(['one application', 'all applications'])('is counted by the console, for %s', async (whose) => {
    const application = whose === 'one application' ? appId : undefined
    const read = async () => {
      const overview = await readOverview(db, application, await readSettledTotal(db, application))
      const { total, tasksOpen, queues } = overview
      return {
        sent: total.sent,
        tasksOpen,
        active: queues.get('fcm')?.causes.get('active')?.devices ?? 0,
      }
    }
    const { bundle } = await accept(2)
    await claimBundles(db.pool, 'fcm', [bundle], lease('a'))
    const before = await read()
    await settlePlain(bundle, 'a', 's.')
    expect(await read()).toEqual({
      sent: before.sent + 1,
      tasksOpen: before.tasksOpen - 1,
      active: before.active - 1,
    })
  })

  it('is checked by the balance', async () => {
    const before = await countBalanced(db)
    const { tasks, bundle } = await accept(2)
    await claimBundles(db.pool, 'fcm', [bundle], lease('a'))
    await settlePlain(bundle, 'a', 's.')
    expect(await countBalanced(db)).toEqual({
      tasks: before.tasks + 2,
      rows: before.rows + 2,
      targets: before.targets + 2,
      pending: before.pending + 1,
    })
    await db.pool.query(`UPDATE bundle SET status = 'sm' WHERE task_id = $1`, [bundle])
    expect((await findImbalances(db)).map(({ taskId }) => taskId)).toEqual([tasks[1]])
    await db.pool.query(`UPDATE bundle SET status = 's.' WHERE task_id = $1`, [bundle])
  })

  it('is listed by its state', async () => {
    const { tasks, bundle } = await accept(2)
    await claimBundles(db.pool, 'fcm', [bundle], lease('a'))
    await settlePlain(bundle, 'a', 's.')
    const listed = async (state: 'sending' | 'finished') =>
      (await listTasks(db, { appId }, { limit: 2, state })).map(({ taskId }) => taskId)
    expect((await listed('finished'))[0]).toBe(tasks[0])
    expect((await listed('sending'))[0]).toBe(tasks[1])
  })
})
