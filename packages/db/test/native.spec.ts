import type { NativeFold, Plan, Strategy } from '@herald/domain'
import { acceptPlan, type TestDatabase, testDatabase } from '@herald/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { removeDevice } from '../src/devices/index.ts'
import { cancelInbox, expireInbox, overfullInboxes, trimInboxes } from '../src/ledger/index.ts'
import {
  acknowledge,
  alignPresence,
  dropPresence,
  fallBackDue,
  fenceNodes,
  greetDevices,
  joinNode,
  leaveNode,
  renewNode,
  sendFromInbox,
  settleNative,
  settleOrphans,
  waitingInbox,
} from '../src/native/index.ts'
import { findImbalances } from '../src/readings/index.ts'
import { type Database, ensurePartitions, openDatabase } from '../src/store/index.ts'
import {
  cancelTask,
  claimBatches,
  finishTasks,
  freeDeadLeases,
  recordReceipts,
  taskFailures,
} from '../src/tasks/index.ts'
import { createApplication } from '../src/tenants/index.ts'

let database: TestDatabase
let db: Database
let app: string
beforeAll(async () => {
  database = await testDatabase()
  db = openDatabase(database.url, { max: 8 })
  await ensurePartitions(db)
  const made = await createApplication(db, { name: 'native', packageName: '' })
  if (made === 'taken') throw new Error('taken')
  app = made.appId
})
afterAll(async () => {
  await db.close()
  await database.drop()
})
afterEach(async () => expect(await findImbalances(db)).toEqual([]))

let made = 0
async function devices(count: number): Promise<number[]> {
  const { rows } = await db.pool.query<{ id: number }>(
    `INSERT INTO device (app_id, guid, push_token, moved_at)
     SELECT $1, 'g' || n, 't' || n, now() - interval '1 hour' FROM generate_series($2::int, $3::int) n RETURNING id`,
    [app, made + 1, made + count],
  )
  made += count
  return rows.map(({ id }) => id)
}
const tokenOf = async (id: number) =>
  (await db.pool.query('SELECT push_token FROM device WHERE id = $1', [id])).rows[0].push_token as string

async function accept(
  plan: Partial<Plan>,
  options: { strategy?: Strategy; ttl?: number } = {},
): Promise<{ taskId: number; batchId?: number }> {
  const { taskId, released } = await acceptPlan(db, app, plan, { strategy: 'combined', ...options })
  return { taskId, batchId: released[0]?.id }
}

const fold = (change: Partial<NativeFold>): NativeFold => ({
  status: '',
  sent: 0,
  moved: 0,
  expired: 0,
  acknowledged: [],
  inbox: [],
  fallback: [],
  reasons: [],
  ...change,
})

async function counters(taskId: number): Promise<Record<string, number>> {
  const { rows } = await db.pool.query(
    `SELECT target, sent, received, moved, expired, cancelled FROM counter WHERE task_id = $1 AND channel = 'native'`,
    [taskId],
  )
  return Object.fromEntries(Object.entries(rows[0] as Record<string, number>).filter(([, n]) => n !== 0))
}

describe('presence', () => {
  const here = async (id: number) =>
    (await db.pool.query('SELECT node, connection FROM presence WHERE device_id = $1', [id])).rows[0]

  it('follows a device between nodes, whatever the order in which they write', async () => {
    const [id] = await devices(1)
    const token = await tokenOf(id!)
    for (const node of ['a', 'b']) await joinNode(db, node, 60)
    const [first] = await greetDevices(db, 'a', [token])
    const [second] = await greetDevices(db, 'b', [token])
    expect([first, second]).toMatchObject([
      { deviceId: id, newest: true },
      { deviceId: id, newest: true },
    ])
    expect(second!.connection).toBeGreaterThan(first!.connection)
    // The old node is late with everything it has to say.
    await dropPresence(db, [first!])
    expect(await here(id!)).toEqual({ node: 'b', connection: second!.connection })
    expect(await alignPresence(db, 'a', [first!])).toEqual([id])
    expect(await alignPresence(db, 'b', [second!])).toEqual([])
    expect(await here(id!)).toEqual({ node: 'b', connection: second!.connection })
    await dropPresence(db, [second!])
    expect(await here(id!)).toBeUndefined()
  })

  it('is right when a device says hello to both nodes at once, a hundred times', async () => {
    const ids = await devices(20)
    const tokens = await Promise.all(ids.map(tokenOf))
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all(
        ['a', 'b', 'a', 'b'].map((node) =>
          greetDevices(db, node, tokens).then((greeted) => ({ node, greeted })),
        ),
      )
      for (const [i, id] of ids.entries()) {
        const highest = answers
          .map(({ node, greeted }) => ({ node, connection: greeted[i]!.connection }))
          .sort((x, y) => y.connection - x.connection)[0]
        expect(await here(id)).toEqual(highest)
      }
    }
  })

  it('greets one connection of a device that says hello twice in one breath, and nobody unknown', async () => {
    const [id] = await devices(1)
    const token = await tokenOf(id!)
    const greeted = await greetDevices(db, 'a', [token, 'nobody', token])
    expect(greeted.map((one) => one?.newest)).toEqual([false, undefined, true])
  })

  it('is written anew where it is missing or under a former name', async () => {
    const ids = await devices(3)
    const held = (await greetDevices(db, 'a', await Promise.all(ids.map(tokenOf)))).map((one) => one!)
    await db.pool.query('DELETE FROM presence WHERE device_id = $1', [ids[0]])
    expect(await alignPresence(db, 'a2', held)).toEqual([])
    for (const id of ids) expect((await here(id)).node).toBe('a2')
  })

  it('ends with the lease of its node, and a fenced node cannot renew', async () => {
    const [id] = await devices(1)
    await joinNode(db, 'short', 60)
    await greetDevices(db, 'short', [await tokenOf(id!)])
    expect(await fenceNodes(db)).toEqual([])
    expect(await renewNode(db, 'short', 60)).toBe(true)
    await leaveNode(db, 'short')
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(await fenceNodes(db)).toEqual(['short'])
    expect(await here(id!)).toBeUndefined()
    expect(await renewNode(db, 'short', 60)).toBe(false)
  })
})

describe('the settle of a native batch', () => {
  it('writes once, and nothing under an old version', async () => {
    const [a, b] = await devices(2)
    const plan = { batches: [{ channel: 'native' as const, node: 'a', recipients: [a!, b!], tried: [] }] }
    const { taskId, batchId } = await accept(plan)
    const [claimed] = await claimBatches(db.pool, [{ taskId, id: batchId! }], { seconds: 30, worker: 'w' })
    const settlement = {
      taskId,
      id: batchId!,
      version: claimed!.version,
      ...fold({
        status: 'ss',
        sent: 2,
        acknowledged: [a!],
        inbox: [{ recipients: [b!], sent: true, fallbackIn: 10 }],
      }),
    }
    const results = await Promise.all([settlement, settlement].map((one) => settleNative(db.pool, [one])))
    expect(results.map(({ size }) => size).sort()).toEqual([0, 1])
    expect(await counters(taskId)).toEqual({ target: 2, sent: 2, received: 1 })
    expect((await waitingInbox(db, [a!, b!])).waiting).toEqual([{ deviceId: b, taskId, sent: true }])
  })

  it('writes nothing for a gateway whose lease ran out', async () => {
    const [a] = await devices(1)
    const plan = { batches: [{ channel: 'native' as const, node: 'a', recipients: [a!], tried: [] }] }
    const { taskId, batchId } = await accept(plan)
    const [stale] = await claimBatches(db.pool, [{ taskId, id: batchId! }], { seconds: -1, worker: 'w' })
    expect(await freeDeadLeases(db)).toBe(1)
    const late = { taskId, id: batchId!, version: stale!.version, ...fold({ status: 's', sent: 1 }) }
    expect((await settleNative(db.pool, [late])).size).toBe(0)
    expect(await counters(taskId)).toEqual({ target: 1 })
  })

  it('keeps no copy for a device whose receipt came by another way, and counts it as sent', async () => {
    const [a] = await devices(1)
    const plan = { batches: [{ channel: 'native' as const, node: 'a', recipients: [a!], tried: [] }] }
    const { taskId, batchId } = await accept(plan)
    const [claimed] = await claimBatches(db.pool, [{ taskId, id: batchId! }], { seconds: 30, worker: 'w' })
    await recordReceipts(db, [{ appId: app, taskId, deviceId: a!, event: 'received' }])
    await settleNative(db.pool, [
      {
        taskId,
        id: batchId!,
        version: claimed!.version,
        ...fold({ status: 'i', inbox: [{ recipients: [a!], sent: false, fallbackIn: null }] }),
      },
    ])
    expect(await counters(taskId)).toEqual({ target: 1, sent: 1, received: 1 })
    expect((await waitingInbox(db, [a!])).waiting).toEqual([])
  })

  it('takes a batch from a node that lives no more, and from no other', async () => {
    const [a] = await devices(1)
    await joinNode(db, 'alive', 60)
    const planFor = (node: string) => ({
      batches: [{ channel: 'native' as const, node, recipients: [a!], tried: [] }],
    })
    const living = await accept(planFor('alive'))
    const dead = await accept(planFor('never joined'))
    const seen: number[] = []
    await settleOrphans(db, 10, async (orphans) =>
      orphans.map(({ batch }) => {
        seen.push(batch.taskId)
        const { taskId, id, version } = batch
        return {
          taskId,
          id,
          version,
          ...fold({ status: 'i', inbox: [{ recipients: [a!], sent: false, fallbackIn: null }] }),
        }
      }),
    )
    expect(seen).toContain(dead.taskId)
    expect(seen).not.toContain(living.taskId)
    // Whoever held it before cannot write any more.
    const late = { taskId: dead.taskId, id: dead.batchId!, version: 0, ...fold({ status: 's', sent: 1 }) }
    expect((await settleNative(db.pool, [late])).size).toBe(0)
    expect(await counters(dead.taskId)).toEqual({ target: 1 })
  })
})

describe('the inbox', () => {
  it('counts a message as sent once, however many nodes drain it at the same time', async () => {
    const ids = await devices(50)
    const { taskId } = await accept({ inbox: ids })
    const { waiting } = await waitingInbox(db, ids)
    let written = 0
    await Promise.all(
      [1, 2, 3, 4].map(() =>
        sendFromInbox(db, waiting, 10, (locked) => {
          written += locked.length
          return locked
        }),
      ),
    )
    expect(written).toBe(50)
    expect(await counters(taskId)).toEqual({ target: 50, sent: 50 })
  })

  it('counts nothing when the writing fails', async () => {
    const ids = await devices(2)
    const { taskId } = await accept({ inbox: ids })
    const { waiting } = await waitingInbox(db, ids)
    await expect(
      sendFromInbox(db, waiting, 10, () => {
        throw new Error('the node died')
      }),
    ).rejects.toThrow('the node died')
    expect(await counters(taskId)).toEqual({ target: 2 })
  })

  it('acknowledges once, and takes the word of a device for a message nobody counted as written', async () => {
    const [a, b, stranger] = await devices(3)
    const { taskId } = await accept({ inbox: [a!, b!] })
    await sendFromInbox(db, (await waitingInbox(db, [a!])).waiting, null, (locked) => locked)
    const words = [a!, b!, a!, stranger!].map((deviceId) => ({ appId: app, taskId, deviceId }))
    await Promise.all([1, 2, 3].map(() => acknowledge(db, words)))
    expect(await counters(taskId)).toEqual({ target: 2, sent: 2, received: 2 })
    await acknowledge(db, [{ appId: app, taskId: 1, deviceId: a! }])
  })

  it('takes back that a device was moved on when its acknowledgement proves it was sent', async () => {
    const [a] = await devices(1)
    const plan = { batches: [{ channel: 'native' as const, node: 'a', recipients: [a!], tried: [] }] }
    const { taskId, batchId } = await accept(plan)
    const [claimed] = await claimBatches(db.pool, [{ taskId, id: batchId! }], { seconds: 30, worker: 'w' })
    const { version } = claimed!
    await settleNative(db.pool, [{ taskId, id: batchId!, version, ...fold({ status: 'm', moved: 1 }) }])
    expect(await counters(taskId)).toEqual({ target: 1, moved: 1 })
    await acknowledge(db, [{ appId: app, taskId, deviceId: a! }])
    await acknowledge(db, [{ appId: app, taskId, deviceId: a! }])
    expect(await counters(taskId)).toEqual({ target: 1, sent: 1, received: 1 })
  })

  it('expires and cancels what was not written, and forgets what was', async () => {
    const [a, b] = await devices(2)
    const short = await accept({ inbox: [a!, b!] }, { ttl: 1 })
    const stopped = await accept({ inbox: [a!, b!] })
    await sendFromInbox(db, (await waitingInbox(db, [a!])).waiting, null, (locked) => locked)
    await cancelTask(db, { appId: app }, stopped.taskId)
    expect(await cancelInbox(db, 100)).toEqual({ removed: 2, unsent: 1 })
    expect(await counters(stopped.taskId)).toEqual({ target: 2, sent: 1, cancelled: 1 })
    await db.pool.query(`UPDATE inbox SET expires_at = now() WHERE task_id = $1`, [short.taskId])
    const expired = [await expireInbox(db, 1), await expireInbox(db, 100)]
    expect(expired.map(({ removed }) => removed)).toEqual([1, 1])
    expect(expired.reduce((sum, { unsent }) => sum + unsent, 0)).toBe(1)
    expect(await counters(short.taskId)).toEqual({ target: 2, sent: 1, expired: 1 })
    const why = async (taskId: number) =>
      (await taskFailures(db, { appId: app }, taskId))!.map(({ fate, reason, samples }) => [
        fate,
        reason,
        samples.map(({ deviceId }) => deviceId),
      ])
    expect(await why(stopped.taskId)).toEqual([['cancelled', 'its task was cancelled', [b]]])
    expect(await why(short.taskId)).toEqual([
      ['expired', 'its time ran out while it waited for the device to connect', [b]],
    ])
  })

  it('keeps a task open that waits for its devices, and looks at it less and less often', async () => {
    const [a] = await devices(1)
    const { taskId } = await accept({ inbox: [a!] }, { ttl: 86_400 })
    await db.pool.query(
      `UPDATE task SET begin_at = now() - interval '8 hours', check_at = now() WHERE id = $1`,
      [taskId],
    )
    const lookedAtIn = async () => {
      await finishTasks(db)
      const { rows } = await db.pool.query(
        'SELECT extract(epoch FROM check_at - now())::float8 AS seconds FROM task WHERE id = $1',
        [taskId],
      )
      return rows[0].seconds as number
    }
    expect(await lookedAtIn()).toBeGreaterThan(60)
    await cancelTask(db, { appId: app }, taskId)
    expect(await lookedAtIn()).toBeLessThanOrEqual(10)
  })

  it('goes with its device: what was not written is expired, what was stays sent', async () => {
    const [a] = await devices(1)
    const written = await accept({ inbox: [a!] })
    await sendFromInbox(db, (await waitingInbox(db, [a!])).waiting, null, (locked) => locked)
    const unwritten = await accept({ inbox: [a!] })
    await removeDevice(db, app, a!)
    expect(await counters(written.taskId)).toEqual({ target: 1, sent: 1 })
    expect(await counters(unwritten.taskId)).toEqual({ target: 1, expired: 1 })
  })

  it('holds the newest hundred of a device', async () => {
    const [a] = await devices(1)
    const tasks: number[] = []
    for (let n = 0; n < 103; n++) tasks.push((await accept({ inbox: [a!] })).taskId)
    expect(await overfullInboxes(db, 0)).toEqual([a])
    expect((await waitingInbox(db, [a!])).full).toEqual([a])
    expect(await trimInboxes(db, [a!])).toEqual({ removed: 3, unsent: 3 })
    expect((await waitingInbox(db, [a!])).waiting.map(({ taskId }) => taskId)).toEqual(tasks.slice(3))
    expect(await counters(tasks[0]!)).toEqual({ target: 1, expired: 1 })
    expect(await overfullInboxes(db, 0)).toEqual([])
  })

  it('gives to the next channel what is due, keeps the copy of what was written, and drops what is known', async () => {
    const [sent, unsent, known, stuck] = await devices(4)
    const { taskId } = await accept({ inbox: [sent!, unsent!, known!, stuck!] })
    const { waiting } = await waitingInbox(db, [sent!])
    await sendFromInbox(db, waiting, 0.001, (locked) => locked)
    await db.pool.query('UPDATE inbox SET fallback_at = now() WHERE task_id = $1', [taskId])
    await db.pool.query(`INSERT INTO receipt (task_id, device_id, channel) VALUES ($1, $2, 'native')`, [
      taskId,
      known,
    ])
    const groups: unknown[] = []
    await fallBackDue(db, 100, async (due) => {
      groups.push([due.sent, due.recipients])
      const recipients = due.recipients.filter((id) => id !== stuck)
      return {
        plan: {
          batches: [{ channel: 'fcm', certificateId: 1, recipients, tried: due.sent ? ['native'] : [] }],
          inbox: [],
          unreachable: 0,
        },
        reasons: [],
      }
    })
    expect(groups).toEqual(
      expect.arrayContaining([
        [true, [sent]],
        [false, [unsent, stuck]],
      ]),
    )
    expect(await counters(taskId)).toEqual({ target: 4, sent: 2, moved: 1 })
    const { rows } = await db.pool.query(
      'SELECT device_id, fallback_at FROM inbox WHERE task_id = $1 ORDER BY 1',
      [taskId],
    )
    expect(rows).toEqual([sent, stuck].map((id) => ({ device_id: id, fallback_at: null })))
    const vendor = await db.pool.query(`SELECT target FROM counter WHERE task_id = $1 AND channel = 'fcm'`, [
      taskId,
    ])
    expect(vendor.rows).toEqual([{ target: 2 }])
    expect(await fallBackDue(db, 100, () => Promise.reject(new Error('nothing is due')))).toEqual({
      looked: 0,
      moved: 0,
    })
  })

  it('shows a message only to the owner it was planned for', async () => {
    const [a] = await devices(1)
    await accept({ inbox: [a!] })
    await db.pool.query(`UPDATE device SET moved_at = now() + interval '1 second' WHERE id = $1`, [a])
    expect((await waitingInbox(db, [a!])).waiting).toEqual([])
  })
})
