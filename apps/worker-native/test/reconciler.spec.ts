import { type ConnectedDevice, connectDevices, fenceNodes, joinNode, takeNews } from '@herald/db/native'
import { leaseTime } from '@herald/db/tasks'
import { until } from '@herald/testkit'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { addApplication } from '@herald/testkit/sample-tenant'
import { useDatabase } from '@herald/testkit/use-database'
import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { type Reconciler, startReconciler } from '../src/reconciler.ts'
import type { Session } from '../src/session.ts'

const db = useDatabase()
let app: string
beforeAll(async () => {
  app = await addApplication(db, 'gateways')
})

const realNow = performance.now.bind(performance)
let skipped = 0
let stoppedAt: number | undefined
/** From now on only `skipped` changes the time, so that a pause of the machine causes no round. */
const stopClock = () => {
  stoppedAt = realNow()
}
beforeEach(() => {
  stoppedAt = undefined
  jest.spyOn(performance, 'now').mockImplementation(() => (stoppedAt ?? realNow()) + skipped)
})
const open: Reconciler[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop()
  jest.restoreAllMocks()
})

let made = 0
async function devices(count: number): Promise<{ id: number; token: string }[]> {
  const tokens = Array.from({ length: count }, () => `token-${++made}`)
  const { rows } = await db.pool.query<{ id: number; token: string }>(
    `INSERT INTO device (app_id, guid, push_token) SELECT $1, t, t FROM unnest($2::text[]) t RETURNING id, push_token AS token`,
    [app, tokens],
  )
  return rows
}

/** A gateway with these devices connected, and what it did. */
async function gateway(node: string, connected: { token: string }[]) {
  await joinNode(db, node, 600)
  const sessions = new Map<number, Session>()
  const add = (one: ConnectedDevice) =>
    sessions.set(one.deviceId, { away: false, ...one } as unknown as Session)
  for (let at = 0; at < connected.length; at += 1000) {
    const some = connected.slice(at, at + 1000).map(({ token }) => token)
    for (const one of await connectDevices(db, node, some)) add(one!)
  }
  const did = { drained: [] as number[], replaced: [] as number[], revoked: [] as number[] }
  const state = { mayWrite: true, asked: 0 }
  const reconciler = startReconciler({
    db,
    sessions,
    node: () => node,
    mayWrite() {
      state.asked++
      return state.mayWrite
    },
    inbox: {
      async drain(ids) {
        if (ids.length > 0) await db.pool.query({ name: 'drain', text: 'SELECT 1' })
        did.drained.push(...ids)
        return []
      },
    },
    onReplaced: (deviceId) => void did.replaced.push(deviceId),
    onRevoked: (deviceId) => void did.revoked.push(deviceId),
    onDisconnected() {},
    onPostgresError() {},
  })
  open.push(reconciler)
  await until(() => did.drained.length >= sessions.size, { what: 'the first look at all' })
  did.drained.length = 0
  return { did, state, sessions, add, reconciler }
}

/** Statements of the reconciler by name. */
function statements() {
  const query = jest.spyOn(db.pool, 'query')
  const names = [
    'take-news',
    'wrong-presence',
    'restore-presence',
    'drain',
    'waiting-devices',
    'mark-gateway',
  ]
  return () => {
    const counts = Object.fromEntries(names.map((name) => [name, 0]))
    for (const [statement] of query.mock.calls as unknown as [{ name?: string }][]) {
      const name = statement.name?.split('@')[0]
      if (name !== undefined && name in counts) counts[name]!++
    }
    return counts
  }
}

async function putIntoInbox(taskId: number, deviceIds: number[], paused = false): Promise<void> {
  await db.pool.query(
    `INSERT INTO inbox (task_id, device_id, app_id, expires_at) SELECT $1, d, $2, now() + interval '1 hour' FROM unnest($3::bigint[]) d`,
    [taskId, app, deviceIds],
  )
  if (paused) await db.pool.query('UPDATE task SET paused = true WHERE id = $1', [taskId])
}
const newTask = async () =>
  (await acceptPlan(db, app, { batches: [{ channel: 'fcm', certificateId: 1, recipients: [1], tried: [] }] }))
    .taskId

describe('a gateway with idle connections', () => {
  it.each([10, 6000])('asks once per round, also with %i of them', async (count) => {
    await gateway(`idle-${count}`, await devices(count))
    stopClock()
    const counted = statements()
    for (let round = 1; round <= 5; round++) {
      skipped += 1000
      await until(() => counted()['take-news'] === round, { what: 'the next round' })
    }
    expect(counted()).toMatchObject({
      'wrong-presence': 0,
      drain: 0,
      'waiting-devices': 0,
      'mark-gateway': 0,
    })
  })

  it('does not ask while there are none, and asks within a second when there is one', async () => {
    const counted = statements()
    const { sessions, add, reconciler, did } = await gateway('empty', [])
    await until(() => counted()['take-news'] === 1, { what: 'the first question' })
    stopClock()
    const [device] = await devices(1)
    const [connected] = await connectDevices(db, 'empty', [device!.token])
    // The pauses of the reconciler are real: it was asleep for less than the skipped time.
    skipped += 5_000
    expect(sessions.size).toBe(0)
    expect(counted()['take-news']).toBe(1)
    add(connected!)
    reconciler.welcome(device!.id)
    await until(() => did.drained.includes(device!.id))
    expect(counted()['take-news']).toBe(1)
    skipped += 1_000
    await until(() => counted()['take-news']! > 1, { what: 'the next question' })
  })

  it('looks at all of them slowly: at most one step of 2000 per second', async () => {
    const { did } = await gateway('sweep', await devices(6000))
    stopClock()
    const counted = statements()
    skipped += 30_000
    await until(() => did.drained.length === 2000, { what: 'the first step' })
    for (const part of [4000, 6000]) {
      skipped += 1000
      await until(() => did.drained.length === part, { what: 'the next step' })
    }
    expect(new Set(did.drained).size).toBe(6000)
    expect(counted()).toMatchObject({ 'wrong-presence': 3, drain: 3 })
  })
})

describe('a gateway is told', () => {
  it('of messages put into the inbox of a device that is connected to it', async () => {
    const [here, elsewhere, offline] = (await devices(3)) as [
      Awaited<ReturnType<typeof devices>>[0],
      Awaited<ReturnType<typeof devices>>[0],
      Awaited<ReturnType<typeof devices>>[0],
    ]
    const first = await gateway('inbox-a', [here])
    const second = await gateway('inbox-b', [elsewhere])
    await putIntoInbox(await newTask(), [here.id, elsewhere.id, offline.id])
    await until(() => first.did.drained.includes(here.id) && second.did.drained.includes(elsewhere.id))
    expect([...first.did.drained, ...second.did.drained]).toEqual([here.id, elsewhere.id])
  })

  it('of a task that was resumed', async () => {
    const [device, other] = await devices(2)
    const { did } = await gateway('resumed', [device!, other!])
    const taskId = await newTask()
    await putIntoInbox(taskId, [device!.id], true)
    await until(() => did.drained.includes(device!.id))
    did.drained.length = 0
    await db.pool.query('UPDATE task SET paused = false WHERE id = $1', [taskId])
    await until(() => did.drained.includes(device!.id))
    expect(did.drained).not.toContain(other!.id)
  })

  it('of a device that connected to another gateway, and of a replaced push token', async () => {
    const [moving, revoked] = await devices(2)
    const { did } = await gateway('former', [moving!, revoked!])
    await joinNode(db, 'new', 600)
    await connectDevices(db, 'new', [moving!.token])
    await until(() => did.replaced.includes(moving!.id))
    await db.pool.query('UPDATE device SET token_generation = token_generation + 1 WHERE id = $1', [
      revoked!.id,
    ])
    await db.pool.query('DELETE FROM presence WHERE device_id = $1', [revoked!.id])
    await until(() => did.revoked.includes(revoked!.id))
    expect(did.replaced).toEqual([moving!.id])
  })

  it('to look at all after a crash of Postgres, which empties the tables, and after a failed statement', async () => {
    const all = await devices(3)
    const { did, sessions } = await gateway('crashed', all)
    const isBack = async () => {
      const { rowCount } = await db.pool.query(`SELECT FROM presence WHERE node = 'crashed'`)
      return rowCount === 3 && did.drained.length >= 3
    }
    await db.pool.query('TRUNCATE presence, gateway_news, gateway_mark')
    await until(isBack)
    did.drained.length = 0
    await db.pool.query('TRUNCATE presence')
    await until(isBack)
    did.drained.length = 0
    const query = db.pool.query.bind(db.pool)
    const failing = jest.spyOn(db.pool, 'query').mockImplementation((async (...args: unknown[]) => {
      const result = await query(...(args as [never]))
      if ((args[0] as { name?: string }).name !== 'take-news') return result
      failing.mockRestore()
      throw new Error('the answer was lost')
    }) as never)
    await until(() => did.drained.length >= sessions.size)
  })

  it('nothing while its lease is in doubt, and then what waited', async () => {
    const [device] = await devices(1)
    const { did, state } = await gateway('doubt', [device!])
    state.mayWrite = false
    skipped += 1000
    const counted = statements()
    await putIntoInbox(await newTask(), [device!.id])
    const before = counted()['take-news']!
    state.asked = 0
    skipped += 5000
    await until(() => state.asked > 0, { what: 'a round without the lease' })
    expect(counted()['take-news']).toBe(before)
    state.mayWrite = true
    skipped += 1000
    await until(() => did.drained.includes(device!.id))
  })

  it('to look at all when its lease was in doubt: a device that was woken during that time got nothing', async () => {
    const all = await devices(3)
    const { did, state, sessions } = await gateway('doubted', all)
    state.mayWrite = false
    state.asked = 0
    skipped += 1000
    await until(() => state.asked > 0, { what: 'a round without the lease' })
    expect(did.drained).toEqual([])
    state.mayWrite = true
    skipped += 1000
    await until(() => did.drained.length >= sessions.size)
  })

  it('nothing any more when it was fenced', async () => {
    const [device] = await devices(1)
    await joinNode(db, 'fenced', 600)
    await connectDevices(db, 'fenced', [device!.token])
    await putIntoInbox(await newTask(), [device!.id])
    await db.pool.query(
      `UPDATE gateway_node SET lease_until = now() - interval '1 second' WHERE id = 'fenced'`,
    )
    expect(await fenceNodes(db, await leaseTime(db))).toEqual(['fenced'])
    const { rowCount } = await db.pool.query(`SELECT FROM gateway_news WHERE node = 'fenced'`)
    expect(rowCount).toBe(0)
    expect(await takeNews(db, 'fenced')).toEqual({ all: true, deviceIds: [], taskIds: [] })
  })
})
