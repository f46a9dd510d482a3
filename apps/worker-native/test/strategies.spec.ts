import { cancelTask, pauseTask, recordReceipts, resumeTask } from '@herald/db/tasks'
import { until } from '@herald/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { connect, openStage, plainMessage, type Stage, type TestDevice } from './stage.ts'

type Gateway = Awaited<ReturnType<Stage['startGateway']>>

describe('two gateways, a planner and vendors', () => {
  let stage: Stage
  let app: string
  let a: Gateway
  let b: Gateway
  const opened: Awaited<ReturnType<typeof connect>>[] = []
  const open = async (gateway: Gateway, device: TestDevice) => {
    const connection = await connect(gateway.url, device)
    opened.push(connection)
    await until(() => stage.isOnline(device), { what: 'presence' })
    return connection
  }
  const onBoth = (n: string) => ({ xiaomi: `${n}:accepted` })
  const stateOf = async (task: number) =>
    (await stage.db.pool.query('SELECT state FROM task WHERE id = $1', [task])).rows[0].state

  beforeAll(async () => {
    stage = await openStage()
    app = await stage.addApplication('strategies')
    a = await stage.startGateway()
    b = await stage.startGateway()
    await stage.startPlanner()
    await stage.startWorkers()
  })
  afterEach(async () => {
    expect(await stage.imbalances()).toEqual([])
    for (const connection of opened.splice(0)) connection.cut()
  })
  afterAll(() => stage.close())

  describe('combined', () => {
    const strategy = 'combined' as const

    it('serves an online device natively and leaves the vendor alone', async () => {
      const device = await stage.addDevice(app, onBoth('online'))
      const connection = await open(a, device)
      const task = await stage.notify(app, [device], { strategy })
      await connection.gets(task)
      connection.ack(task)
      await until(async () => (await stateOf(task)) === 'finished')
      expect(await stage.counters(task)).toEqual({ native: { target: 1, sent: 1, received: 1 } })
      expect(await stage.ledger(task)).toEqual([])
    })

    it('serves an offline device by its vendor, and by the inbox when it has none', async () => {
      const withToken = await stage.addDevice(app, onBoth('offline'))
      const without = await stage.addDevice(app)
      const task = await stage.notify(app, [withToken, without], { strategy })
      await stage.becomes(task, { xiaomi: { target: 1, sent: 1 }, native: { target: 1 } })
      const connection = await open(a, without)
      await connection.gets(task)
      connection.ack(task)
      await stage.becomes(task, {
        xiaomi: { target: 1, sent: 1 },
        native: { target: 1, sent: 1, received: 1 },
      })
    })

    it('goes on to the vendor when nothing is acknowledged in time, and stays sent', async () => {
      const device = await stage.addDevice(app, onBoth('silent'))
      const connection = await open(a, device)
      const task = await stage.notify(app, [device], { strategy })
      await connection.gets(task)
      await stage.becomes(task, { native: { target: 1, sent: 1 } })
      expect(await stateOf(task)).toBe('sending')
      await stage.becomes(task, { native: { target: 1, sent: 1 }, xiaomi: { target: 1, sent: 1 } })
      // The vendor has it, so the copy is gone; the acknowledgement still counts.
      expect(await stage.inboxOf(device)).toEqual([])
      connection.ack(task)
      await stage.becomes(task, {
        native: { target: 1, sent: 1, received: 1 },
        xiaomi: { target: 1, sent: 1 },
      })
    })

    it('keeps the copy of an unacknowledged message when the vendor refuses it', async () => {
      const device = await stage.addDevice(app, { xiaomi: 'refusing:rejected' })
      const connection = await open(a, device)
      const task = await stage.notify(app, [device], { strategy })
      await connection.gets(task)
      await stage.becomes(task, { native: { target: 1, sent: 1 }, xiaomi: { target: 1, failed: 1 } })
      expect(await stage.inboxOf(device)).toEqual([task])
      connection.cut()
      const next = await open(b, device)
      await next.gets(task)
      next.ack(task)
      await stage.becomes(task, {
        native: { target: 1, sent: 1, received: 1 },
        xiaomi: { target: 1, failed: 1 },
      })
    })

    it('keeps an unacknowledged message for a device that has no vendor', async () => {
      const device = await stage.addDevice(app)
      const connection = await open(a, device)
      const task = await stage.notify(app, [device], { strategy })
      await connection.gets(task)
      await until(async () => (await stateOf(task)) === 'finished')
      expect(await stage.inboxOf(device)).toEqual([task])
      expect(await stage.counters(task)).toEqual({ native: { target: 1, sent: 1 } })
    })

    it('goes to the vendor at once when the connection was gone already', async () => {
      const device = await stage.addDevice(app, onBoth('gone'))
      await haunt(a, device)
      const task = await stage.notify(app, [device], { strategy })
      await stage.becomes(task, { native: { target: 1, moved: 1 }, xiaomi: { target: 1, sent: 1 } })
    })

    it('comes back to the inbox when the vendor fails a device that was never written to', async () => {
      const device = await stage.addDevice(app, { xiaomi: 'failing:rejected' })
      await haunt(a, device)
      const task = await stage.notify(app, [device], { strategy })
      await stage.becomes(task, { native: { target: 2, moved: 1 }, xiaomi: { target: 1, moved: 1 } })
      const connection = await open(b, device)
      await connection.gets(task)
      connection.ack(task)
      await stage.becomes(task, {
        native: { target: 2, moved: 1, sent: 1, received: 1 },
        xiaomi: { target: 1, moved: 1 },
      })
    })
  })

  describe('nativepush_only', () => {
    it('waits in the inbox when the connection was gone already', async () => {
      const device = await stage.addDevice(app, onBoth('never'))
      await haunt(a, device)
      const task = await stage.notify(app, [device])
      await until(async () => (await stage.inboxOf(device)).length === 1)
      expect(await stage.counters(task)).toEqual({ native: { target: 1 } })
      const connection = await open(b, device)
      await connection.gets(task)
      connection.ack(task)
      await stage.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
      await until(async () => (await stateOf(task)) === 'finished')
      expect(await stage.ledger(task)).toEqual([])
    })

    it('reaches a device that moved to the other gateway after it was planned for the first', async () => {
      const device = await stage.addDevice(app)
      const connection = await open(b, device)
      await haunt(a, device)
      const task = await stage.notify(app, [device])
      await connection.gets(task)
      connection.ack(task)
      await stage.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
    })
  })

  it('closes the connection to one gateway when the device connects to the other', async () => {
    const device = await stage.addDevice(app)
    const first = await open(a, device)
    const newer = await open(b, device)
    expect(await first.closed(5)).toMatchObject({ code: 4409 })
    const task = await stage.notify(app, [device])
    await newer.gets(task)
    expect(newer.isClosed()).toBe(false)
  })

  it('gives what a dead gateway leaves to vendor or inbox when its lease is over', async () => {
    const node = 'dead-node'
    await stage.db.pool.query(
      `INSERT INTO gateway_node (id, lease_until) VALUES ($1, now() + interval '1500 milliseconds')`,
      [node],
    )
    const [device, mute] = [await stage.addDevice(app, onBoth('widow')), await stage.addDevice(app)]
    for (const { id } of [device, mute])
      await stage.db.pool.query(
        `INSERT INTO presence (device_id, node, connection) VALUES ($1, $2, nextval('connection_number'))`,
        [id, node],
      )
    const combined = await stage.notify(app, [device, mute], { strategy: 'combined' })
    const native = await stage.notify(app, [device, mute])
    expect(await stage.counters(combined)).toEqual({ native: { target: 2 } })
    await stage.becomes(combined, { native: { target: 2, moved: 1 }, xiaomi: { target: 1, sent: 1 } })
    const connection = await open(b, mute)
    await connection.gets(combined)
    await connection.gets(native)
    connection.ack(combined, native)
    await stage.becomes(native, { native: { target: 2, sent: 1, received: 1 } })
    await until(async () => {
      const { rows } = await stage.db.pool.query('SELECT 1 FROM gateway_node WHERE id = $1', [node])
      return rows.length === 0
    })
  })

  it('joins again under a new name when it was given up, and its devices notice nothing', async () => {
    const c = await stage.startGateway({ HERALD_NODE_ID: 'phoenix' })
    const device = await stage.addDevice(app)
    const connection = await open(c, device)
    await stage.db.pool.query(
      `WITH gone AS (DELETE FROM gateway_node WHERE id LIKE 'phoenix%' RETURNING id)
       DELETE FROM presence WHERE node IN (SELECT id FROM gone)`,
    )
    expect(await stage.isOnline(device)).toBe(false)
    await until(() => stage.isOnline(device), { seconds: 10 })
    const task = await stage.notify(app, [device])
    await connection.gets(task)
    connection.ack(task)
    await stage.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
    await c.stop()
  })

  it('tells its devices to move when it stops, refuses new ones, and loses nothing', async () => {
    const c = await stage.startGateway()
    const devices = await Promise.all(Array.from({ length: 20 }, () => stage.addDevice(app)))
    const before = await Promise.all(devices.map((device) => open(c, device)))
    const task = await stage.notify(app, devices)
    const stopping = c.stop()
    const codes = await Promise.all(before.map((connection) => connection.closed()))
    expect(codes.every(({ code }) => code === 4503)).toBe(true)
    await expect(connect(c.url, devices[0]!)).rejects.toThrow()
    const after = await Promise.all(devices.map((device) => open(a, device)))
    const late = await stage.notify(app, devices)
    for (const connection of after) await connection.gets(late)
    for (const [i, connection] of after.entries()) {
      // Who has not acknowledged gets it again.
      await connection.gets(task)
      expect([...before[i]!.pushes(), ...connection.pushes()]).toContain(task)
      connection.ack(task, late)
    }
    await stopping
    for (const one of [task, late])
      await stage.becomes(one, { native: { target: 20, sent: 20, received: 20 } })
  })

  it('is not held up by an application whose certificates cannot be read', async () => {
    const sick = await stage.addApplication('sick')
    const well = await stage.addApplication('well')
    await stage.db.pool.query(`UPDATE certificate SET sealed = '\\x00' WHERE app_id = $1`, [sick])
    const devices = await Promise.all([sick, well].map((owner) => stage.addDevice(owner, onBoth(owner))))
    for (const device of devices) await haunt(a, device)
    // Planned before the certificates broke: both were online then.
    const tasks = await Promise.all(
      [sick, well].map((owner, i) => insertNativeTask(owner, devices[i]!, a.port)),
    )
    await stage.becomes(tasks[1]!, { native: { target: 1, moved: 1 }, xiaomi: { target: 1, sent: 1 } })
    await until(async () => (await stage.inboxOf(devices[0]!)).length === 1)
    expect(await stage.counters(tasks[0]!)).toEqual({ native: { target: 1 } })
    const connection = await open(b, devices[0]!)
    await connection.gets(tasks[0]!)
    connection.ack(tasks[0]!)
    await stage.becomes(tasks[0]!, { native: { target: 1, sent: 1, received: 1 } })
  })

  it('cancels what waits in inboxes', async () => {
    const device = await stage.addDevice(app)
    const task = await stage.notify(app, [device])
    expect(await cancelTask(stage.db, { appId: app }, task)).toBe('ok')
    await stage.becomes(task, { native: { target: 1, cancelled: 1 } })
    await until(async () => (await stateOf(task)) === 'cancelled')
    const connection = await open(a, device)
    const next = await stage.notify(app, [device])
    await connection.gets(next)
    expect(connection.pushes()).toEqual([next])
  })

  it('holds inboxes of a paused task back and delivers them after the resume', async () => {
    const device = await stage.addDevice(app)
    const task = await stage.notify(app, [device])
    await pauseTask(stage.db, { appId: app }, task)
    const connection = await open(a, device)
    const next = await stage.notify(app, [device])
    await connection.gets(next)
    expect(connection.pushes()).toEqual([next])
    await resumeTask(stage.db, { appId: app }, task)
    await connection.gets(task, 5)
    connection.ack(task)
    await stage.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
  })

  it('expires what is not delivered within the ttl', async () => {
    const device = await stage.addDevice(app)
    const task = await stage.notify(app, [device], { ttl: 1 })
    await stage.becomes(task, { native: { target: 1, expired: 1 } })
    await until(async () => (await stateOf(task)) === 'finished')
    expect(await stage.inboxOf(device)).toEqual([])
  })

  it('takes a receipt over HTTP for an acknowledgement', async () => {
    const device = await stage.addDevice(app, onBoth('http'))
    const connection = await open(a, device)
    const task = await stage.notify(app, [device], { strategy: 'combined' })
    await connection.gets(task)
    await stage.becomes(task, { native: { target: 1, sent: 1 } })
    const receipt = { appId: app, taskId: task, deviceId: device.id, event: 'clicked' as const }
    expect(await recordReceipts(stage.db, [receipt])).toBe(1)
    expect(await stage.inboxOf(device)).toEqual([])
    await until(async () => (await stateOf(task)) === 'finished')
    expect(await stage.counters(task)).toEqual({ native: { target: 1, sent: 1, received: 1 } })
  })

  /** A combined task whose one recipient was planned for this gateway; released by the planner. */
  async function insertNativeTask(appId: string, device: TestDevice, port: number): Promise<number> {
    const { rows } = await stage.db.pool.query<{ id: number }>(
      `WITH t AS (
         INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl, deadline, planned_at)
         VALUES (next_task_id(), $1, 'sending', '{"kind":"all"}', 'combined', '{ups,fcm}', $2, 'high', 100, now() + interval '100 s', now())
         RETURNING id, deadline
       ), b AS (
         INSERT INTO batch (task_id, app_id, channel, node, lane, state, size, recipients, status, deadline)
         SELECT t.id, $1, 'native', n.id, 'high', 'ready', 1, ARRAY[$3::bigint], '.', t.deadline
         FROM t, gateway_node n WHERE n.id LIKE $4
       ), c AS (INSERT INTO counter (task_id, channel, target) SELECT id, 'native', 1 FROM t)
       SELECT id FROM t`,
      [appId, JSON.stringify(plainMessage), device.id, `test-${port}%`],
    )
    return rows[0]!.id
  }

  /** Presence of a device at a gateway that has no connection of it. */
  async function haunt(gateway: Gateway, device: TestDevice): Promise<void> {
    await stage.db.pool.query(
      `INSERT INTO presence AS p (device_id, node, connection)
       SELECT $1, id, 0 FROM gateway_node WHERE id LIKE $2
       ON CONFLICT (device_id) DO UPDATE SET node = excluded.node, connection = 0`,
      [device.id, `test-${gateway.port}%`],
    )
  }
})

describe('a vendor that is late', () => {
  let stage: Stage
  beforeAll(async () => {
    stage = await openStage()
    await stage.startPlanner()
  })
  afterAll(() => stage.close())

  it('is spared the send when the acknowledgement came first', async () => {
    const app = await stage.addApplication('late')
    const gateway = await stage.startGateway()
    const device = await stage.addDevice(app, { xiaomi: 'x:accepted' })
    const connection = await connect(gateway.url, device)
    await until(() => stage.isOnline(device))
    const task = await stage.notify(app, [device], { strategy: 'combined' })
    await connection.gets(task)
    await stage.becomes(task, { native: { target: 1, sent: 1 }, xiaomi: { target: 1 } })
    connection.ack(task)
    await stage.becomes(task, { native: { target: 1, sent: 1, received: 1 }, xiaomi: { target: 1 } })
    await stage.startWorkers()
    await stage.becomes(task, {
      native: { target: 1, sent: 1, received: 1 },
      xiaomi: { target: 1, cancelled: 1 },
    })
    expect(await stage.ledger(task)).toEqual([])
    expect(await stage.imbalances()).toEqual([])
    connection.cut()
  })
})
