import type { NativeFold, Plan, Strategy } from '@herald/domain'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { removeDevice, replacePushToken } from '../src/devices/index.ts'
import { markSeen } from '../src/devices/last-seen.ts'
import { createPushTokens } from '../src/devices/push-tokens.ts'
import { rememberErased } from '../src/ledger/erased-devices.ts'
import {
  cancelInbox,
  emptyInboxes,
  expireInbox,
  inboxesOfErased,
  inboxesOfRemoved,
  overfullInboxes,
  trimInboxes,
} from '../src/ledger/index.ts'
import {
  acknowledge,
  connectDevices,
  dropPresence,
  fallBackDue,
  fenceNodes,
  joinNode,
  leaveNode,
  ownerChangedSince,
  reconcilePresence,
  renewNode,
  sendFromInbox,
  settleNative,
  settleOrphans,
  waitingInbox,
} from '../src/native/index.ts'
import { findImbalances } from '../src/readings/index.ts'
import {
  cancelTask,
  claimBatches,
  finishTasks,
  leaseTime,
  reclaimExpiredLeases,
  recordReceipts,
  taskFailures,
  walkOpenTasks,
} from '../src/tasks/index.ts'
import { addApplication, useDatabase } from './setup.ts'

const db = useDatabase({ max: 8 })
let app: string
beforeAll(async () => {
  app = await addApplication(db)
})
afterEach(async () => expect(await findImbalances(db)).toEqual([]))

let created = 0
async function devices(count: number): Promise<number[]> {
  const { rows } = await db.pool.query<{ id: number }>(
    `INSERT INTO device (app_id, guid, push_token, moved_at)
     SELECT $1, 'g' || n, 't' || n, now() - interval '1 hour' FROM generate_series($2::int, $3::int) n RETURNING id`,
    [app, created + 1, created + count],
  )
  created += count
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

const claim = (taskId: number, id: number, seconds: number) =>
  claimBatches(
    db.pool,
    { channel: 'native', certificateIds: [], batches: [{ taskId, id }] },
    { seconds, worker: 'w' },
  )

const fold = (change: Partial<NativeFold>): NativeFold => ({
  status: '',
  sent: 0,
  moved: 0,
  expired: 0,
  acknowledged: [],
  inbox: [],
  fallback: [],
  reasons: [],
  whys: [],
  ...change,
})

async function counters(taskId: number): Promise<Record<string, number>> {
  const { rows } = await db.pool.query(
    `SELECT target, sent, received, moved, expired, cancelled FROM counter WHERE task_id = $1 AND channel = 'native'`,
    [taskId],
  )
  return Object.fromEntries(Object.entries(rows[0] as Record<string, number>).filter(([, n]) => n !== 0))
}

/** The seconds that devices with this message have before it is sent through another channel. */
const acknowledgedWithin = async (taskId: number): Promise<number[]> =>
  (
    await db.pool.query(
      'SELECT DISTINCT extract(epoch FROM fallback_at - sent_at)::float8 AS seconds FROM inbox WHERE task_id = $1',
      [taskId],
    )
  ).rows.map(({ seconds }) => seconds)

describe('presence', () => {
  const here = async (id: number) =>
    (await db.pool.query('SELECT node, connection FROM presence WHERE device_id = $1', [id])).rows[0]

  it('follows a device between nodes, in whatever order they write', async () => {
    const [id] = await devices(1)
    const token = await tokenOf(id!)
    for (const node of ['a', 'b']) await joinNode(db, node, 60)
    const [first] = await connectDevices(db, 'a', [token])
    const [second] = await connectDevices(db, 'b', [token])
    expect([first, second]).toMatchObject([
      { deviceId: id, newest: true },
      { deviceId: id, newest: true },
    ])
    expect(second!.connection).toBeGreaterThan(first!.connection)
    // The writes of the old node come late.
    await dropPresence(db, [first!])
    expect(await here(id!)).toEqual({ node: 'b', connection: second!.connection })
    expect(await reconcilePresence(db, 'a', [first!])).toEqual({ replaced: [id], revoked: [] })
    expect(await reconcilePresence(db, 'b', [second!])).toEqual({ replaced: [], revoked: [] })
    expect(await here(id!)).toEqual({ node: 'b', connection: second!.connection })
    await dropPresence(db, [second!])
    expect(await here(id!)).toBeUndefined()
  })

  it('is right when devices connect to both nodes at once', async () => {
    const ids = await devices(20)
    const tokens = await Promise.all(ids.map(tokenOf))
    for (let round = 0; round < 5; round++) {
      const results = await Promise.all(
        ['a', 'b', 'a', 'b'].map((node) =>
          connectDevices(db, node, tokens).then((connected) => ({ node, connected })),
        ),
      )
      for (const [i, id] of ids.entries()) {
        const highest = results
          .map(({ node, connected }) => ({ node, connection: connected[i]!.connection }))
          .sort((x, y) => y.connection - x.connection)[0]
        expect(await here(id)).toEqual(highest)
      }
    }
  })

  it('keeps the last of two connections of a device in one call, and ignores unknown tokens', async () => {
    const [id] = await devices(1)
    const token = await tokenOf(id!)
    const connected = await connectDevices(db, 'a', [token, 'unknown', token])
    expect(connected.map((one) => one?.newest)).toEqual([false, undefined, true])
  })

  it('has what the last hello says about the app', async () => {
    const [id, other] = await devices(2)
    const [token, otherToken] = [await tokenOf(id!), await tokenOf(other!)]
    const isAway = async (deviceId: number) =>
      (await db.pool.query('SELECT away FROM presence WHERE device_id = $1', [deviceId])).rows[0].away
    await connectDevices(db, 'a', [token, otherToken], [true, false])
    expect([await isAway(id!), await isAway(other!)]).toEqual([true, false])
    // Two hellos of one device in one call.
    await connectDevices(db, 'a', [token, otherToken, token, otherToken], [true, false, false, true])
    expect([await isAway(id!), await isAway(other!)]).toEqual([false, true])
    await connectDevices(db, 'a', [otherToken])
    expect(await isAway(other!)).toBe(false)
  })

  it('tells which devices were not heard of for an hour, and these are written once', async () => {
    const ids = await devices(2)
    const tokens = await Promise.all(ids.map((id) => tokenOf(id)))
    const longAgo = async () => (await connectDevices(db, 'a', tokens)).map((device) => device?.isSeenLongAgo)
    const versions = async () =>
      (await db.pool.query('SELECT xmin::text FROM device WHERE id = ANY($1) ORDER BY id', [ids])).rows
    expect(await longAgo()).toEqual([true, true])
    await markSeen(db, [ids[0]!])
    expect(await longAgo()).toEqual([false, true])
    await markSeen(db, ids)
    const before = await versions()
    await markSeen(db, ids)
    expect(await versions()).toEqual(before)
    expect(await longAgo()).toEqual([false, false])
  })

  it('is restored where it is missing or has a former name', async () => {
    const ids = await devices(3)
    const open = (await connectDevices(db, 'a', await Promise.all(ids.map(tokenOf)))).map((one) => one!)
    await db.pool.query('DELETE FROM presence WHERE device_id = $1', [ids[0]])
    expect(await reconcilePresence(db, 'a2', open)).toEqual({ replaced: [], revoked: [] })
    for (const id of ids) expect((await here(id)).node).toBe('a2')
  })

  it('is not restored for a replaced push token or a removed device', async () => {
    const ids = await devices(3)
    const open = (await connectDevices(db, 'a', await Promise.all(ids.map(tokenOf)))).map((one) => one!)
    const { guid } = (await db.pool.query('SELECT guid FROM device WHERE id = $1', [ids[0]])).rows[0]
    expect(await replacePushToken(db, createPushTokens(Buffer.alloc(32)), { appId: app }, guid)).toBeDefined()
    await removeDevice(db, app, ids[1]!)
    const { revoked, replaced } = await reconcilePresence(db, 'a', open)
    expect([revoked.sort(), replaced]).toEqual([[ids[0], ids[1]], []])
    for (const id of ids.slice(0, 2)) expect(await here(id)).toBeUndefined()
    expect(await here(ids[2]!)).toBeDefined()
  })

  it('of a token that was replaced while it connected is found', async () => {
    const [id] = await devices(1)
    const [open] = await connectDevices(db, 'a', [await tokenOf(id!)])
    await db.pool.query('UPDATE device SET token_generation = token_generation + 1 WHERE id = $1', [id])
    expect(await reconcilePresence(db, 'a', [open!])).toEqual({ replaced: [], revoked: [id] })
  })

  it('ends with the lease of its node, and a fenced node cannot renew', async () => {
    const [id] = await devices(1)
    await joinNode(db, 'short', 60)
    await connectDevices(db, 'short', [await tokenOf(id!)])
    expect(await fenceNodes(db, await leaseTime(db))).toEqual([])
    expect(await renewNode(db, 'short', 60)).toBe(true)
    await leaveNode(db, 'short')
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(await fenceNodes(db, await leaseTime(db))).toEqual(['short'])
    expect(await here(id!)).toBeUndefined()
    expect(await renewNode(db, 'short', 60)).toBe(false)
  })
})

describe('the settle of a native batch', () => {
  it('writes once, and nothing with an old version', async () => {
    const [a, b] = await devices(2)
    const plan = { batches: [{ channel: 'native' as const, node: 'a', recipients: [a!, b!], tried: [] }] }
    const { taskId, batchId } = await accept(plan)
    const [claimed] = await claim(taskId, batchId!, 30)
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
    expect(await acknowledgedWithin(taskId)).toEqual([10])
  })

  it('writes nothing for a gateway whose lease has expired', async () => {
    const [a] = await devices(1)
    const plan = { batches: [{ channel: 'native' as const, node: 'a', recipients: [a!], tried: [] }] }
    const { taskId, batchId } = await accept(plan)
    const [stale] = await claim(taskId, batchId!, -1)
    expect(await reclaimExpiredLeases(db, await leaseTime(db))).toBe(1)
    const late = { taskId, id: batchId!, version: stale!.version, ...fold({ status: 's', sent: 1 }) }
    expect((await settleNative(db.pool, [late])).size).toBe(0)
    expect(await counters(taskId)).toEqual({ target: 1 })
  })

  it('stores no copy for a device that has a receipt already, and counts it as sent', async () => {
    const [a] = await devices(1)
    const plan = { batches: [{ channel: 'native' as const, node: 'a', recipients: [a!], tried: [] }] }
    const { taskId, batchId } = await accept(plan)
    const [claimed] = await claim(taskId, batchId!, 30)
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

  it('leaves nothing of devices that were erased after their message was written', async () => {
    const [a, b, c] = await devices(3)
    const plan = { batches: [{ channel: 'native' as const, node: 'a', recipients: [a!, b!, c!], tried: [] }] }
    const { taskId, batchId } = await accept(plan)
    const [claimed] = await claim(taskId, batchId!, 30)
    await rememberErased(db.pool, [a!, b!])
    await settleNative(db.pool, [
      {
        taskId,
        id: batchId!,
        version: claimed!.version,
        ...fold({
          status: 'sss',
          sent: 3,
          acknowledged: [a!],
          inbox: [{ recipients: [b!, c!], sent: true, fallbackIn: null }],
        }),
      },
    ])
    expect((await waitingInbox(db, [a!, b!, c!])).waiting).toEqual([{ deviceId: c, taskId, sent: true }])
    // Its acknowledgement comes when it has been erased too, but its inbox has not been emptied yet.
    await rememberErased(db.pool, [c!])
    expect(
      await acknowledge(
        db,
        [a!, b!, c!].map((deviceId) => ({ appId: app, taskId, deviceId })),
      ),
    ).toBe(0)
    expect((await waitingInbox(db, [c!])).waiting).toEqual([])
    expect(await counters(taskId)).toEqual({ target: 3, sent: 3 })
    const { rows } = await db.pool.query('SELECT 1 FROM receipt WHERE task_id = $1', [taskId])
    expect(rows).toEqual([])
  })

  it('settles batches of nodes without a lease, and of no other', async () => {
    const [a] = await devices(1)
    await joinNode(db, 'alive', 60)
    const planFor = (node: string) => ({
      batches: [{ channel: 'native' as const, node, recipients: [a!], tried: [] }],
    })
    const alive = await accept(planFor('alive'))
    const dead = await accept(planFor('never joined'))
    const seen: number[] = []
    await settleOrphans(db, await leaseTime(db), 10, async (orphans) =>
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
    expect(seen).not.toContain(alive.taskId)
    // The former node can no longer write.
    const late = { taskId: dead.taskId, id: dead.batchId!, version: 0, ...fold({ status: 's', sent: 1 }) }
    expect((await settleNative(db.pool, [late])).size).toBe(0)
    expect(await counters(dead.taskId)).toEqual({ target: 1 })
  })
})

describe('the inbox', () => {
  it('counts a message as sent once when several nodes read it at the same time', async () => {
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
    expect(await acknowledgedWithin(taskId)).toEqual([10])
  })

  it('counts nothing when writing fails', async () => {
    const ids = await devices(2)
    const { taskId } = await accept({ inbox: ids })
    const { waiting } = await waitingInbox(db, ids)
    await expect(
      sendFromInbox(db, waiting, 10, () => {
        throw new Error('the node crashed')
      }),
    ).rejects.toThrow('the node crashed')
    expect(await counters(taskId)).toEqual({ target: 2 })
  })

  it('counts an acknowledgement once, also of a message that was not counted as sent', async () => {
    const [a, b, other] = await devices(3)
    const { taskId } = await accept({ inbox: [a!, b!] })
    await sendFromInbox(db, (await waitingInbox(db, [a!])).waiting, null, (locked) => locked)
    const acknowledgements = [a!, b!, a!, other!].map((deviceId) => ({ appId: app, taskId, deviceId }))
    await Promise.all([1, 2, 3].map(() => acknowledge(db, acknowledgements)))
    expect(await counters(taskId)).toEqual({ target: 2, sent: 2, received: 2 })
    await acknowledge(db, [{ appId: app, taskId: 1, deviceId: a! }])
  })

  it('lowers `moved` when an acknowledgement shows that the message was sent', async () => {
    const [a] = await devices(1)
    const plan = { batches: [{ channel: 'native' as const, node: 'a', recipients: [a!], tried: [] }] }
    const { taskId, batchId } = await accept(plan)
    const [claimed] = await claim(taskId, batchId!, 30)
    const { version } = claimed!
    await settleNative(db.pool, [{ taskId, id: batchId!, version, ...fold({ status: 'm', moved: 1 }) }])
    expect(await counters(taskId)).toEqual({ target: 1, moved: 1 })
    await acknowledge(db, [{ appId: app, taskId, deviceId: a! }])
    await acknowledge(db, [{ appId: app, taskId, deviceId: a! }])
    expect(await counters(taskId)).toEqual({ target: 1, sent: 1, received: 1 })
  })

  it('lowers `moved` also when the message was moved from the inbox', async () => {
    const [a, b] = (await devices(2)) as [number, number]
    const plan = { batches: [{ channel: 'native' as const, node: 'a', recipients: [a, b], tried: [] }] }
    const { taskId, batchId } = await accept(plan)
    const [claimed] = await claim(taskId, batchId!, 30)
    // Its gateway wrote it and ended.
    const inbox = [{ recipients: [a, b], sent: false, fallbackIn: 0 }]
    const { version } = claimed!
    await settleNative(db.pool, [{ taskId, id: batchId!, version, ...fold({ status: 'ii', inbox }) }])
    await fallBackDue(db, 100, async ({ recipients }) => ({
      plan: {
        batches: [{ channel: 'fcm', certificateId: 1, recipients, tried: ['native'] }],
        inbox: [],
        unreachable: 0,
      },
      reasons: [],
    }))
    expect(await counters(taskId)).toEqual({ target: 2, moved: 2 })
    for (let n = 0; n < 2; n++) await acknowledge(db, [{ appId: app, taskId, deviceId: a }])
    expect(await counters(taskId)).toEqual({ target: 2, moved: 1, sent: 1, received: 1 })
  })

  it('expires and cancels unsent messages, and deletes sent ones', async () => {
    const [a, b] = await devices(2)
    const short = await accept({ inbox: [a!, b!] }, { ttl: 1 })
    const cancelled = await accept({ inbox: [a!, b!] })
    await sendFromInbox(db, (await waitingInbox(db, [a!])).waiting, null, (locked) => locked)
    await cancelTask(db, { appId: app }, cancelled.taskId)
    expect(await cancelInbox(db, 100)).toEqual({ removed: 2, unsent: 1 })
    expect(await counters(cancelled.taskId)).toEqual({ target: 2, sent: 1, cancelled: 1 })
    await db.pool.query(`UPDATE inbox SET expires_at = now() WHERE task_id = $1`, [short.taskId])
    const expired = [await expireInbox(db, 1), await expireInbox(db, 100)]
    expect(expired.map(({ removed }) => removed)).toEqual([1, 1])
    expect(expired.reduce((sum, { unsent }) => sum + unsent, 0)).toBe(1)
    expect(await counters(short.taskId)).toEqual({ target: 2, sent: 1, expired: 1 })
    const failuresOf = async (taskId: number) =>
      (await taskFailures(db, { appId: app }, taskId))!.map(({ fate, reason, samples }) => [
        fate,
        reason,
        samples.map(({ deviceId }) => deviceId),
      ])
    expect(await failuresOf(cancelled.taskId)).toEqual([['cancelled', 'the task was cancelled', [b]]])
    expect(await failuresOf(short.taskId)).toEqual([
      ['expired', 'expired while waiting for the device to connect', [b]],
    ])
  })

  it('keeps a task open that waits for its devices, without writing its row', async () => {
    const [a] = await devices(1)
    const { taskId } = await accept({ inbox: [a!] }, { ttl: 86_400 })
    const row = async () => {
      while ((await finishTasks(db)) > 0) {}
      await walkOpenTasks(db, taskId - 1)
      return (await db.pool.query('SELECT ctid, state FROM task WHERE id = $1', [taskId])).rows[0]
    }
    const waiting = await row()
    expect(waiting.state).toBe('sending')
    expect(await row()).toEqual(waiting)
    await cancelTask(db, { appId: app }, taskId)
    expect((await row()).state).toBe('sending')
    await cancelInbox(db, 100)
    expect((await row()).state).toBe('cancelled')
  })

  it('is deleted with its device: unsent messages expire, sent ones stay counted as sent', async () => {
    const [a] = await devices(1)
    const written = await accept({ inbox: [a!] })
    await sendFromInbox(db, (await waitingInbox(db, [a!])).waiting, null, (locked) => locked)
    const unwritten = await accept({ inbox: [a!] })
    await removeDevice(db, app, a!)
    expect(await counters(written.taskId)).toEqual({ target: 1, sent: 1 })
    expect(await counters(unwritten.taskId)).toEqual({ target: 1, expired: 1 })
  })

  it('reads at most 101 messages of each device if there are many, the newest, in order', async () => {
    const [a, b, c] = await devices(3)
    const tasks: number[] = []
    for (let n = 0; n < 130; n++) tasks.push((await accept({ inbox: n < 3 ? [a!, b!] : [a!] })).taskId)
    await db.pool.query('UPDATE task SET paused = true WHERE id = $1', [tasks[129]])
    const sizes: number[] = []
    const count = (target: object) =>
      new Proxy(target, {
        get(inner, key) {
          const value = Reflect.get(inner, key)
          if (key === 'connect') return async () => count(await value.call(inner))
          if (key !== 'query') return typeof value === 'function' ? value.bind(inner) : value
          return async (...args: unknown[]) => {
            const result = await value.apply(inner, args)
            sizes.push(result.rows?.length ?? 0)
            return result
          }
        },
      })
    const counted = { ...db, pool: count(db.pool) as typeof db.pool }
    const all = await waitingInbox(counted, [a!, b!, c!])
    expect(all.waiting).toHaveLength(132)
    expect(Math.max(...sizes.splice(0))).toBe(133)
    const newest = await waitingInbox(counted, [a!, b!, c!], 120)
    expect(Math.max(...sizes)).toBe(120)
    // Of the messages read, that of the paused task is left out.
    const of = (device: number) => newest.waiting.flatMap((m) => (m.deviceId === device ? m.taskId : []))
    expect([of(a!), of(b!), of(c!)]).toEqual([tasks.slice(29, 129), tasks.slice(0, 3), []])
    expect([all.full, newest.full]).toEqual([[a], [a]])
    await trimInboxes(db, [a!])
    expect((await waitingInbox(db, [a!], 50)).full).toEqual([])
  })

  it('keeps the newest hundred messages of a device', async () => {
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

  it('is emptied of what was written after its device was removed or erased', async () => {
    const [erased, removed, present] = await devices(3)
    await removeDevice(db, app, erased!)
    await rememberErased(db.pool, [erased!])
    await removeDevice(db, app, removed!)
    // The plan was made before.
    const { taskId } = await accept({ inbox: [erased!, removed!, present!] })
    expect(await inboxesOfErased(db)).toEqual([erased])
    expect(await emptyInboxes(db, [erased!])).toEqual({ removed: 1, unsent: 1 })
    expect(await inboxesOfErased(db)).toEqual([])
    expect(await inboxesOfRemoved(db, 0)).toEqual([removed])
    expect(await inboxesOfRemoved(db, removed!)).toEqual([])
    expect(await emptyInboxes(db, [removed!])).toEqual({ removed: 1, unsent: 1 })
    expect(await inboxesOfRemoved(db, 0)).toEqual([])
    expect((await waitingInbox(db, [erased!, removed!, present!])).waiting).toEqual([
      { deviceId: present, taskId, sent: false },
    ])
    expect(await counters(taskId)).toEqual({ target: 3, expired: 2 })
  })

  it('leaves inboxes of devices that were erased long ago to the rare search', async () => {
    const [device] = await devices(1)
    await removeDevice(db, app, device!)
    await rememberErased(db.pool, [device!])
    await db.pool.query(
      `UPDATE erased_device SET erased_at = now() - interval '11 minutes' WHERE device_id = $1`,
      [device],
    )
    await accept({ inbox: [device!] })
    expect(await inboxesOfErased(db)).toEqual([])
    expect(await inboxesOfRemoved(db, 0)).toEqual([device])
    await emptyInboxes(db, [device!])
  })

  it('moves due messages to the next channel, keeps the copy of sent ones, and deletes received ones', async () => {
    const [sent, unsent, received, alone] = await devices(4)
    const { taskId } = await accept({ inbox: [sent!, unsent!, received!, alone!] })
    const { waiting } = await waitingInbox(db, [sent!])
    await sendFromInbox(db, waiting, 0.001, (locked) => locked)
    await db.pool.query('UPDATE inbox SET fallback_at = now() WHERE task_id = $1', [taskId])
    await db.pool.query(`INSERT INTO receipt (task_id, device_id, channel) VALUES ($1, $2, 'native')`, [
      taskId,
      received,
    ])
    const groups: unknown[] = []
    await fallBackDue(db, 100, async (due) => {
      groups.push([due.sent, due.recipients])
      const recipients = due.recipients.filter((id) => id !== alone)
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
        [false, [unsent, alone]],
      ]),
    )
    expect(await counters(taskId)).toEqual({ target: 4, sent: 2, moved: 1 })
    const { rows } = await db.pool.query(
      'SELECT device_id, fallback_at FROM inbox WHERE task_id = $1 ORDER BY 1',
      [taskId],
    )
    expect(rows).toEqual([sent, alone].map((id) => ({ device_id: id, fallback_at: null })))
    const vendor = await db.pool.query(`SELECT target FROM counter WHERE task_id = $1 AND channel = 'fcm'`, [
      taskId,
    ])
    expect(vendor.rows).toEqual([{ target: 2 }])
    expect(await fallBackDue(db, 100, () => Promise.reject(new Error('nothing is due')))).toEqual({
      locked: 0,
      moved: 0,
    })
  })

  it('shows a message only to the owner it was planned for', async () => {
    const [a] = await devices(1)
    await accept({ inbox: [a!] })
    await db.pool.query(`UPDATE device SET moved_at = now() + interval '1 second' WHERE id = $1`, [a])
    expect((await waitingInbox(db, [a!])).waiting).toEqual([])
  })

  it('after the clock was set back reaches a device that was created before, but not one that got another owner', async () => {
    const ids = (await devices(2)) as [number, number]
    const [a] = ids
    const { taskId } = await accept({ inbox: ids })
    await db.pool.query(`UPDATE device SET moved_at = now() + interval '1 hour' WHERE id = ANY($1)`, [ids])
    await db.pool.query('UPDATE device SET created_at = moved_at WHERE id = $1', [a])
    const shown = [{ deviceId: a, taskId, sent: false }]
    for (const maxRows of [100, 1]) expect((await waitingInbox(db, ids, maxRows)).waiting).toEqual(shown)
    const changed = await ownerChangedSince(db.pool, ids, Date.now())
    expect([...changed]).toEqual([[ids[1], { kind: 'ownerChanged', at: expect.any(Number) }]])
    const wanted = ids.map((deviceId) => ({ deviceId, taskId, sent: false }))
    expect(await sendFromInbox(db, wanted, 0, (messages) => messages)).toBe(1)
    await db.pool.query('UPDATE inbox SET fallback_at = now() WHERE task_id = $1', [taskId])
    const due: number[] = []
    await fallBackDue(db, 100, async ({ recipients }) => {
      due.push(...recipients)
      return { plan: { batches: [], inbox: [], unreachable: 0 }, reasons: [] }
    })
    expect(due).toEqual([a])
  })

  it('shows nothing to a disabled device', async () => {
    const ids = await devices(2)
    const { taskId } = await accept({ inbox: ids })
    await db.pool.query('UPDATE device SET enabled = false WHERE id = $1', [ids[0]])
    const { waiting } = await waitingInbox(db, ids)
    expect(waiting).toEqual([{ deviceId: ids[1], taskId, sent: false }])
    const wanted = ids.map((deviceId) => ({ deviceId, taskId, sent: false }))
    const written: number[] = []
    await sendFromInbox(db, wanted, null, (messages) => {
      written.push(...messages.map(({ deviceId }) => deviceId))
      return messages
    })
    expect(written).toEqual([ids[1]])
    expect(await ownerChangedSince(db.pool, ids, Date.now() + 60_000)).toEqual(
      new Map([[ids[0], { kind: 'disabled', at: Number.POSITIVE_INFINITY }]]),
    )
  })
})
