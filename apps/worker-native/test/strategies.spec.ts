import { subqueriesFor } from '@herald/db/readings'
import { cancelTask, pauseTask, recordReceipts, resumeTask } from '@herald/db/tasks'
import { until } from '@herald/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { connect, type Harness, openHarness, plainMessage, type TestDevice } from './harness.ts'

type Gateway = Awaited<ReturnType<Harness['startGateway']>>

describe('two gateways, a planner and vendors', () => {
  let harness: Harness
  let app: string
  let a: Gateway
  let b: Gateway
  const opened: Awaited<ReturnType<typeof connect>>[] = []
  const open = async (gateway: Gateway, device: TestDevice, hello = {}) => {
    const connection = await connect(gateway.url, device, undefined, hello)
    opened.push(connection)
    await until(() => harness.isOnline(device), { what: 'presence' })
    return connection
  }
  const onBoth = (n: string) => ({ xiaomi: `${n}:accepted` })
  /** The seconds that devices have to acknowledge a task. */
  const waitsOf = async (task: number): Promise<number[]> =>
    (
      await harness.db.pool.query(
        'SELECT extract(epoch FROM fallback_at - sent_at)::float8 AS seconds FROM inbox WHERE task_id = $1',
        [task],
      )
    ).rows.map(({ seconds }) => seconds)
  const stateOf = async (task: number) =>
    (await harness.db.pool.query(`SELECT state FROM ${subqueriesFor(task).states} t WHERE id = $1`, [task]))
      .rows[0].state

  beforeAll(async () => {
    harness = await openHarness()
    app = await harness.addApplication('strategies')
    a = await harness.startGateway()
    b = await harness.startGateway()
    await harness.startPlanner()
    await harness.startWorkers()
  })
  afterEach(async () => {
    expect(await harness.imbalances()).toEqual([])
    for (const connection of opened.splice(0)) connection.cut()
  })
  afterAll(() => harness.close())

  describe('combined', () => {
    const strategy = 'combined' as const

    it('delivers to an online device and does not call the vendor', async () => {
      const device = await harness.addDevice(app, onBoth('online'))
      const connection = await open(a, device)
      const task = await harness.notify(app, [device], { strategy })
      await connection.gets(task)
      connection.ack(task)
      await until(async () => (await stateOf(task)) === 'finished')
      expect(await harness.counters(task)).toEqual({ native: { target: 1, sent: 1, received: 1 } })
      expect(await harness.ledger(task)).toEqual([])
    })

    it('uses the vendor for an offline device, and the inbox without a vendor', async () => {
      const withToken = await harness.addDevice(app, onBoth('offline'))
      const without = await harness.addDevice(app)
      const task = await harness.notify(app, [withToken, without], { strategy })
      await harness.becomes(task, { xiaomi: { target: 1, sent: 1 }, native: { target: 1 } })
      // Only a message that waits for its device is left.
      await until(async () => (await stateOf(task)) === 'finished', { what: 'the end of the task' })
      const connection = await open(a, without)
      await connection.gets(task)
      await harness.becomes(task, { xiaomi: { target: 1, sent: 1 }, native: { target: 1, sent: 1 } })
      expect(await waitsOf(task)).toEqual([harness.settings.ackSeconds])
      connection.ack(task)
      await harness.becomes(task, {
        xiaomi: { target: 1, sent: 1 },
        native: { target: 1, sent: 1, received: 1 },
      })
    })

    it('falls back to the vendor when nothing is acknowledged in time, and stays sent', async () => {
      const device = await harness.addDevice(app, onBoth('silent'))
      const connection = await open(a, device)
      const task = await harness.notify(app, [device], { strategy })
      await connection.gets(task)
      await harness.becomes(task, { native: { target: 1, sent: 1 } })
      expect(await stateOf(task)).toBe('sending')
      expect(await waitsOf(task)).toEqual([harness.settings.ackSeconds])
      await harness.endWait(task)
      await harness.becomes(task, { native: { target: 1, sent: 1 }, xiaomi: { target: 1, sent: 1 } })
      // The vendor accepted it, so the inbox copy is gone; the acknowledgement still counts.
      expect(await harness.inboxOf(device)).toEqual([])
      connection.ack(task)
      await harness.becomes(task, {
        native: { target: 1, sent: 1, received: 1 },
        xiaomi: { target: 1, sent: 1 },
      })
    })

    it('keeps the copy of an unacknowledged message when the vendor refuses it', async () => {
      const device = await harness.addDevice(app, { xiaomi: 'refusing:rejected' })
      const connection = await open(a, device)
      const task = await harness.notify(app, [device], { strategy })
      await connection.gets(task)
      await harness.becomes(task, { native: { target: 1, sent: 1 } })
      await harness.endWait(task)
      await harness.becomes(task, { native: { target: 1, sent: 1 }, xiaomi: { target: 1, failed: 1 } })
      expect(await harness.inboxOf(device)).toEqual([task])
      connection.cut()
      const next = await open(b, device)
      await next.gets(task)
      next.ack(task)
      await harness.becomes(task, {
        native: { target: 1, sent: 1, received: 1 },
        xiaomi: { target: 1, failed: 1 },
      })
    })

    it('keeps an unacknowledged message for a device that has no vendor', async () => {
      const device = await harness.addDevice(app)
      const connection = await open(a, device)
      const task = await harness.notify(app, [device], { strategy })
      await connection.gets(task)
      await harness.becomes(task, { native: { target: 1, sent: 1 } })
      await harness.endWait(task)
      await until(async () => (await stateOf(task)) === 'finished')
      expect(await harness.inboxOf(device)).toEqual([task])
      expect(await harness.counters(task)).toEqual({ native: { target: 1, sent: 1 } })
    })

    it('uses the vendor at once when the connection has ended', async () => {
      const device = await harness.addDevice(app, onBoth('gone'))
      await fakePresence(a, device)
      const task = await harness.notify(app, [device], { strategy })
      await harness.becomes(task, { native: { target: 1, moved: 1 }, xiaomi: { target: 1, sent: 1 } })
    })

    it('returns to the inbox when the vendor fails a device that was never written to', async () => {
      const device = await harness.addDevice(app, { xiaomi: 'failing:rejected' })
      await fakePresence(a, device)
      const task = await harness.notify(app, [device], { strategy })
      await harness.becomes(task, { native: { target: 2, moved: 1 }, xiaomi: { target: 1, moved: 1 } })
      const connection = await open(b, device)
      await connection.gets(task)
      connection.ack(task)
      await harness.becomes(task, {
        native: { target: 2, moved: 1, sent: 1, received: 1 },
        xiaomi: { target: 1, moved: 1 },
      })
    })
  })

  describe('a device whose app is away', () => {
    const isAway = async ({ id }: TestDevice) =>
      (await harness.db.pool.query('SELECT away FROM presence WHERE device_id = $1', [id])).rows[0]?.away
    async function openAway(gateway: Gateway, device: TestDevice) {
      const connection = await open(gateway, device)
      connection.send({ op: 'away' })
      await until(() => isAway(device), { what: 'away in the presence' })
      return connection
    }

    it('gets the push from its vendor at once, and the copy that waits when it is here', async () => {
      const device = await harness.addDevice(app, onBoth('away'))
      const connection = await openAway(a, device)
      const task = await harness.notify(app, [device], { strategy: 'combined' })
      await harness.becomes(task, { xiaomi: { target: 1, sent: 1 } })
      expect(await harness.inboxOf(device)).toEqual([task])
      // The copy does not keep the task open.
      await until(async () => (await stateOf(task)) === 'finished')
      expect(connection.pushes()).toEqual([])
      connection.send({ op: 'here' })
      await connection.gets(task)
      connection.ack(task)
      await harness.becomes(task, { xiaomi: { target: 1, sent: 1, received: 1 } })
      expect(await harness.inboxOf(device)).toEqual([])
      await until(async () => (await isAway(device)) === false)
      const next = await harness.notify(app, [device], { strategy: 'combined' })
      await connection.gets(next)
      connection.ack(next)
      await harness.becomes(next, { native: { target: 1, sent: 1, received: 1 } })
    })

    it('needs no copy any more when its vendor reports the receipt', async () => {
      const device = await harness.addDevice(app, onBoth('reported'))
      await openAway(a, device)
      const task = await harness.notify(app, [device], { strategy: 'combined' })
      await harness.becomes(task, { xiaomi: { target: 1, sent: 1 } })
      await recordReceipts(harness.db, [
        { appId: app, taskId: task, deviceId: device.id, channel: 'xiaomi', event: 'received' },
      ])
      expect(await harness.counters(task)).toEqual({ xiaomi: { target: 1, sent: 1, received: 1 } })
      expect(await harness.inboxOf(device)).toEqual([])
    })

    it('gets the copy as an ordinary message when its vendor refuses', async () => {
      const device = await harness.addDevice(app, { xiaomi: 'away-refused:rejected' })
      const connection = await openAway(a, device)
      const task = await harness.notify(app, [device], { strategy: 'combined' })
      await harness.becomes(task, { xiaomi: { target: 1, moved: 1 }, native: { target: 1 } })
      connection.send({ op: 'here' })
      await connection.gets(task)
      connection.ack(task)
      await harness.becomes(task, {
        xiaomi: { target: 1, moved: 1 },
        native: { target: 1, sent: 1, received: 1 },
      })
    })

    it('gets what was planned for its connection from its vendor, too, with a copy', async () => {
      const device = await harness.addDevice(app, onBoth('just-left'))
      const connection = await openAway(a, device)
      // As if the change was not visible yet when the audience was resolved, which was before the gateway repaired it.
      await harness.db.pool.query('UPDATE presence SET away = false WHERE device_id = $1', [device.id])
      const task = await insertNativeTask(app, device, a.port)
      await harness.becomes(task, { native: { target: 1, moved: 1 }, xiaomi: { target: 1, sent: 1 } })
      expect(await harness.inboxOf(device)).toEqual([task])
      // The gateway repairs the presence.
      await until(() => isAway(device), { what: 'away again' })
      connection.send({ op: 'here' })
      await connection.gets(task)
    })

    it('waits in the inbox without a vendor, and is away no more on its next connection', async () => {
      const [lone, other] = [
        await harness.addDevice(app),
        await harness.addDevice(app, onBoth('native-only')),
      ]
      await openAway(a, lone)
      const connection = await openAway(b, other)
      const task = await harness.notify(app, [lone, other], { strategy: 'nativepush_only' })
      await harness.becomes(task, { native: { target: 2 } })
      const again = await open(b, lone)
      await again.gets(task)
      expect(await isAway(lone)).toBe(false)
      again.ack(task)
      connection.send({ op: 'here' })
      await connection.gets(task)
      connection.ack(task)
      await harness.becomes(task, { native: { target: 2, sent: 2, received: 2 } })
    })

    it('gets nothing of its inbox on a new connection whose hello says away, until it is here', async () => {
      const device = await harness.addDevice(app, onBoth('hello-away'))
      const first = await openAway(a, device)
      const task = await harness.notify(app, [device], { strategy: 'nativepush_only' })
      await harness.becomes(task, { native: { target: 1 } })
      first.cut()
      const second = await open(b, device, { away: true })
      expect(await isAway(device)).toBe(true)
      const next = await harness.notify(app, [device], { strategy: 'combined' })
      await harness.becomes(next, { xiaomi: { target: 1, sent: 1 } })
      expect(await harness.inboxOf(device)).toEqual([task, next])
      expect(second.pushes()).toEqual([])
      second.send({ op: 'here' })
      await second.gets(next)
      expect(second.pushes()).toEqual([task, next])
    })

    it('has no copy of a push that uses vendors only or may not be stored', async () => {
      const device = await harness.addDevice(app, onBoth('vendor-only'))
      await openAway(a, device)
      for (const more of [{ strategy: 'ospush_only' as const }, { strategy: 'combined' as const, ttl: 0 }]) {
        const task = await harness.notify(app, [device], more)
        await harness.becomes(task, { xiaomi: { target: 1, sent: 1 } })
      }
      expect(await harness.inboxOf(device)).toEqual([])
    })
  })

  describe('nativepush_only', () => {
    it('waits in the inbox when the connection has ended', async () => {
      const device = await harness.addDevice(app, onBoth('never'))
      await fakePresence(a, device)
      const task = await harness.notify(app, [device])
      await until(async () => (await harness.inboxOf(device)).length === 1)
      expect(await harness.counters(task)).toEqual({ native: { target: 1 } })
      const connection = await open(b, device)
      await connection.gets(task)
      connection.ack(task)
      await harness.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
      await until(async () => (await stateOf(task)) === 'finished')
      expect(await harness.ledger(task)).toEqual([])
    })

    it('reaches a device that moved to the other gateway after it was planned for the first', async () => {
      const device = await harness.addDevice(app)
      const connection = await open(b, device)
      await fakePresence(a, device)
      const task = await harness.notify(app, [device])
      await connection.gets(task)
      connection.ack(task)
      await harness.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
    })
  })

  it('closes the connection to one gateway when the device connects to the other', async () => {
    const device = await harness.addDevice(app)
    const first = await open(a, device)
    const newer = await open(b, device)
    expect(await first.closed()).toMatchObject({ code: 4409 })
    const task = await harness.notify(app, [device])
    await newer.gets(task)
    expect(newer.isClosed()).toBe(false)
  })

  it('reassigns the batches of a dead gateway to vendor or inbox when its lease has expired', async () => {
    const node = 'dead-node'
    await harness.db.pool.query(
      `INSERT INTO gateway_node (id, lease_until) VALUES ($1, now() + interval '1 hour')`,
      [node],
    )
    const [device, mute] = [await harness.addDevice(app, onBoth('orphan')), await harness.addDevice(app)]
    for (const { id } of [device, mute])
      await harness.db.pool.query(
        `INSERT INTO presence (device_id, node, connection) VALUES ($1, $2, nextval('connection_number'))`,
        [id, node],
      )
    const combined = await harness.notify(app, [device, mute], { strategy: 'combined' })
    const native = await harness.notify(app, [device, mute])
    expect(await harness.counters(combined)).toEqual({ native: { target: 2 } })
    await harness.db.pool.query('UPDATE gateway_node SET lease_until = now() WHERE id = $1', [node])
    await harness.becomes(combined, { native: { target: 2, moved: 1 }, xiaomi: { target: 1, sent: 1 } })
    const connection = await open(b, mute)
    await connection.gets(combined)
    await connection.gets(native)
    connection.ack(combined, native)
    await harness.becomes(native, { native: { target: 2, sent: 1, received: 1 } })
    await until(async () => {
      const { rows } = await harness.db.pool.query('SELECT 1 FROM gateway_node WHERE id = $1', [node])
      return rows.length === 0
    })
  })

  it('rejoins under a new name when it was fenced, and its devices stay connected', async () => {
    const c = await harness.startGateway({ HERALD_NODE_ID: 'rejoining' })
    const device = await harness.addDevice(app)
    const connection = await open(c, device)
    const fenced = await harness.db.pool.query(
      `WITH gone AS (DELETE FROM gateway_node WHERE id LIKE 'rejoining%' RETURNING id)
       DELETE FROM presence WHERE node IN (SELECT id FROM gone) AND device_id = $1`,
      [device.id],
    )
    expect(fenced.rowCount).toBe(1)
    await until(() => harness.isOnline(device))
    const task = await harness.notify(app, [device])
    await connection.gets(task)
    connection.ack(task)
    await harness.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
    await c.stop()
  })

  it('disconnects its devices when it stops, refuses new ones, and loses nothing', async () => {
    const c = await harness.startGateway()
    const devices = await Promise.all(Array.from({ length: 20 }, () => harness.addDevice(app)))
    const before = await Promise.all(devices.map((device) => open(c, device)))
    const task = await harness.notify(app, devices)
    const stopping = c.stop()
    const codes = await Promise.all(before.map((connection) => connection.closed()))
    expect(codes.every(({ code }) => code === 4503)).toBe(true)
    await expect(connect(c.url, devices[0]!)).rejects.toThrow()
    const after = await Promise.all(devices.map((device) => open(a, device)))
    const late = await harness.notify(app, devices)
    for (const connection of after) await connection.gets(late)
    for (const [i, connection] of after.entries()) {
      // Unacknowledged, so it is delivered again.
      await connection.gets(task)
      expect([...before[i]!.pushes(), ...connection.pushes()]).toContain(task)
      connection.ack(task, late)
    }
    await stopping
    for (const one of [task, late])
      await harness.becomes(one, { native: { target: 20, sent: 20, received: 20 } })
  })

  it('is not delayed by an application whose certificates cannot be read', async () => {
    const sick = await harness.addApplication('sick')
    const well = await harness.addApplication('well')
    await harness.db.pool.query(`UPDATE certificate SET sealed = '\\x00' WHERE app_id = $1`, [sick])
    const devices = await Promise.all([sick, well].map((owner) => harness.addDevice(owner, onBoth(owner))))
    for (const device of devices) await fakePresence(a, device)
    // Planned before the certificates became unreadable, while both devices were online.
    const tasks = await Promise.all(
      [sick, well].map((owner, i) => insertNativeTask(owner, devices[i]!, a.port)),
    )
    await harness.becomes(tasks[1]!, { native: { target: 1, moved: 1 }, xiaomi: { target: 1, sent: 1 } })
    // Its vendor channel cannot be used until the certificate is readable; the inbox can.
    await harness.becomes(tasks[0]!, { native: { target: 2, moved: 1 }, xiaomi: { target: 1, moved: 1 } })
    await until(async () => (await harness.inboxOf(devices[0]!)).length === 1)
    const connection = await open(b, devices[0]!)
    await connection.gets(tasks[0]!)
    connection.ack(tasks[0]!)
    await harness.becomes(tasks[0]!, {
      native: { target: 2, moved: 1, sent: 1, received: 1 },
      xiaomi: { target: 1, moved: 1 },
    })
  })

  it('cancels messages in inboxes', async () => {
    const device = await harness.addDevice(app)
    const task = await harness.notify(app, [device])
    expect(await cancelTask(harness.db, { appId: app }, task)).toBe('ok')
    await harness.becomes(task, { native: { target: 1, cancelled: 1 } })
    await until(async () => (await stateOf(task)) === 'cancelled')
    const connection = await open(a, device)
    const next = await harness.notify(app, [device])
    await connection.gets(next)
    expect(connection.pushes()).toEqual([next])
  })

  it('does not deliver from inboxes while the task is paused', async () => {
    const device = await harness.addDevice(app)
    const task = await harness.notify(app, [device])
    await pauseTask(harness.db, { appId: app }, task)
    const connection = await open(a, device)
    const next = await harness.notify(app, [device])
    await connection.gets(next)
    expect(connection.pushes()).toEqual([next])
    await resumeTask(harness.db, { appId: app }, task)
    await connection.gets(task)
    connection.ack(task)
    await harness.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
  })

  it('expires messages that are not delivered within the ttl', async () => {
    const device = await harness.addDevice(app)
    const task = await harness.notify(app, [device], { ttl: 1 })
    await harness.becomes(task, { native: { target: 1, expired: 1 } })
    await until(async () => (await stateOf(task)) === 'finished')
    expect(await harness.inboxOf(device)).toEqual([])
  })

  it('accepts a receipt over HTTP as an acknowledgement', async () => {
    const device = await harness.addDevice(app, onBoth('http'))
    const connection = await open(a, device)
    const task = await harness.notify(app, [device], { strategy: 'combined' })
    await connection.gets(task)
    await harness.becomes(task, { native: { target: 1, sent: 1 } })
    const receipt = { appId: app, taskId: task, deviceId: device.id, event: 'clicked' as const }
    expect(await recordReceipts(harness.db, [receipt])).toBe(1)
    expect(await harness.inboxOf(device)).toEqual([])
    await until(async () => (await stateOf(task)) === 'finished')
    expect(await harness.counters(task)).toEqual({ native: { target: 1, sent: 1, received: 1 } })
  })

  /** A combined task whose one recipient was planned for this gateway; released by the planner. */
  async function insertNativeTask(appId: string, device: TestDevice, port: number): Promise<number> {
    const { rows } = await harness.db.pool.query<{ id: number }>(
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

  /** Writes presence of a device at a gateway to which it is not connected. */
  async function fakePresence(gateway: Gateway, device: TestDevice): Promise<void> {
    await harness.db.pool.query(
      `INSERT INTO presence AS p (device_id, node, connection)
       SELECT $1, id, 0 FROM gateway_node WHERE id LIKE $2
       ON CONFLICT (device_id) DO UPDATE SET node = excluded.node, connection = 0`,
      [device.id, `test-${gateway.port}%`],
    )
  }
})

describe('a vendor worker that is late', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await openHarness()
    await harness.startPlanner()
  })
  afterAll(() => harness.close())

  it('does not get the message when the acknowledgement arrived first', async () => {
    const app = await harness.addApplication('late')
    const gateway = await harness.startGateway()
    const device = await harness.addDevice(app, { xiaomi: 'x:accepted' })
    const connection = await connect(gateway.url, device)
    await until(() => harness.isOnline(device))
    const task = await harness.notify(app, [device], { strategy: 'combined' })
    await connection.gets(task)
    await harness.becomes(task, { native: { target: 1, sent: 1 } })
    await harness.endWait(task)
    await harness.becomes(task, { native: { target: 1, sent: 1 }, xiaomi: { target: 1 } })
    connection.ack(task)
    await harness.becomes(task, { native: { target: 1, sent: 1, received: 1 }, xiaomi: { target: 1 } })
    await harness.startWorkers()
    await harness.becomes(task, {
      native: { target: 1, sent: 1, received: 1 },
      xiaomi: { target: 1, cancelled: 1 },
    })
    expect(await harness.ledger(task)).toEqual([])
    expect(await harness.imbalances()).toEqual([])
    connection.cut()
  })
})
