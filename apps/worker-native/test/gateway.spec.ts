import { claimDevice, openPushTokens, removeDevice, replacePushToken } from '@herald/db/devices'
import { freePort, until } from '@herald/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { nativeGateway } from '../src/index.ts'
import { connect, dial, type Harness, openHarness, plainMessage } from './harness.ts'

type Connected = Awaited<ReturnType<typeof dial>>

describe('a gateway', () => {
  let harness: Harness
  let url: string
  let port: number
  let app: string
  const opened: Connected[] = []
  const open = async (...args: Parameters<typeof connect>) => {
    const connection = await connect(...args)
    opened.push(connection)
    return connection
  }

  beforeAll(async () => {
    harness = await openHarness()
    const gateway = await harness.startGateway()
    url = gateway.url
    port = gateway.port
    app = await harness.addApplication('gateway')
  })
  afterEach(async () => {
    expect(await harness.imbalances()).toEqual([])
    for (const connection of opened.splice(0)) connection.cut()
  })
  afterAll(() => harness.close())

  it('welcomes a device and delivers a message, which it acknowledges', async () => {
    const device = await harness.addDevice(app)
    const connection = await open(url, device)
    expect(connection.frames[0]).toEqual({ op: 'welcome', heartbeat: 30 })
    await until(() => harness.isOnline(device))
    const task = await harness.notify(app, [device], {
      message: {
        ...plainMessage,
        bigText: 'Long',
        badge: { kind: 'set', count: 3 },
        ext: '{ "order": 9007199254740993, "price": 1.10 }',
        showEnd: 4_000_000_000,
        ios: { threadId: 't' },
        android: { clickAction: 'open_app' },
      },
    })
    const { message } = await connection.gets(task)
    expect(message).toMatchObject({
      type: 'text',
      title: 'Hello',
      body: 'World',
      big_text: 'Long',
      badge: '3',
      show_end_time: 4_000_000_000,
      ios: { thread_id: 't' },
      android: { click_action: 'open_app' },
    })
    expect(connection.texts.at(-1)).toContain('"ext":{ "order": 9007199254740993, "price": 1.10 }')
    connection.ack(task)
    await harness.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
    expect(await harness.inboxOf(device)).toEqual([])
  })

  it('measures messages, acknowledgements and connections, each device and task once', async () => {
    const gateway = await harness.startGateway()
    const shown = async (name: string) => {
      const found = await gateway.context.registry.getSingleMetric(name)!.get()
      return found.values
        .filter(({ labels }) => !('le' in labels))
        .map((sample) => ({ ...sample, of: (sample as { metricName?: string }).metricName }))
        .filter(({ of = '' }) => !of.endsWith('_sum'))
        .reduce((sum, { value }) => sum + value, 0)
    }
    const own = await harness.addApplication('measured')
    const [prompt, late] = [await harness.addDevice(own), await harness.addDevice(own)]
    const first = await open(gateway.url, prompt)
    await until(() => harness.isOnline(prompt))
    const task = await harness.notify(own, [prompt, late])
    await first.gets(task)
    first.ack(task)
    // This message waits in the inbox until its device connects, which acknowledges it twice.
    await harness.becomes(task, { native: { target: 2, sent: 1, received: 1 } })
    const second = await open(gateway.url, late)
    await second.gets(task)
    second.ack(task)
    second.ack(task)
    await harness.becomes(task, { native: { target: 2, sent: 2, received: 2 } })
    await until(async () => (await shown('herald_received_total')) === 2)
    await until(async () => (await shown('herald_recipients_total')) === 2)
    expect(await shown('herald_native_connections')).toBe(2)
    expect(await shown('herald_native_written_total')).toBe(2)
    await until(async () => (await shown('herald_native_acknowledged_total')) === 3)
    expect(await shown('herald_notify_to_vendor_seconds')).toBe(1)
    await gateway.stop()
    // The figures of the console: one message was written to a connection, one came from the inbox.
    const { rows } = await harness.db.pool.query(
      'SELECT channel, certificate_id, sum(sent)::int AS sent FROM channel_minute WHERE app_id = $1 GROUP BY 1, 2',
      [own],
    )
    expect(rows).toEqual([{ channel: 'native', certificate_id: 0, sent: 2 }])
  })

  it('counts a late acknowledgement once, however often it is repeated', async () => {
    const device = await harness.addDevice(app)
    const connection = await open(url, device)
    await until(() => harness.isOnline(device))
    const task = await harness.notify(app, [device])
    await connection.gets(task)
    await harness.becomes(task, { native: { target: 1, sent: 1 } })
    expect(await harness.inboxOf(device)).toEqual([task])
    connection.ack(task, task)
    connection.ack(task)
    connection.ack(task, 12345)
    await harness.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
    expect(await harness.inboxOf(device)).toEqual([])
  })

  it('keeps messages for an offline device and delivers them in order after the welcome', async () => {
    const device = await harness.addDevice(app)
    const tasks = []
    for (let n = 0; n < 5; n++) tasks.push(await harness.notify(app, [device]))
    expect(await harness.counters(tasks[0]!)).toEqual({ native: { target: 1 } })
    const connection = await open(url, device)
    await connection.gets(tasks[4]!)
    expect(connection.pushes()).toEqual(tasks)
    for (const task of tasks) await harness.becomes(task, { native: { target: 1, sent: 1 } })
    connection.ack(...tasks)
    for (const task of tasks) await harness.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
  })

  it('writes an unacknowledged message again to the next connection, without counting it again', async () => {
    const device = await harness.addDevice(app)
    const first = await open(url, device)
    await until(() => harness.isOnline(device))
    const task = await harness.notify(app, [device])
    await first.gets(task)
    await harness.becomes(task, { native: { target: 1, sent: 1 } })
    first.cut()
    const second = await open(url, device)
    await second.gets(task)
    second.ack(task)
    await harness.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
    expect(second.pushes()).toEqual([task])
  })

  const loseCount = (task: number) =>
    harness.db.pool.query(
      `WITH unsent AS (UPDATE inbox SET sent_at = NULL WHERE task_id = ${task}),
         untold AS (DELETE FROM outbox WHERE task_id = ${task} AND kind = 'device.sent')
       UPDATE counter SET sent = 0 WHERE task_id = ${task}`,
    )

  it('counts a written message when its count was lost, and does not write it twice', async () => {
    const device = await harness.addDevice(app)
    const connection = await open(url, device)
    await until(() => harness.isOnline(device))
    const task = await harness.notify(app, [device])
    await connection.gets(task)
    await harness.becomes(task, { native: { target: 1, sent: 1 } })
    // As after the planner settled the batch of a gateway that it considered dead.
    await loseCount(task)
    await harness.becomes(task, { native: { target: 1, sent: 1 } })
    expect(connection.pushes()).toEqual([task])
  })

  it('does not write a message again while its acknowledgement is being recorded', async () => {
    const device = await harness.addDevice(app)
    const connection = await open(url, device)
    await until(() => harness.isOnline(device))
    const tasks: number[] = []
    for (let n = 0; n < 2; n++) {
      const task = await harness.notify(app, [device])
      tasks.push(task)
      await connection.gets(task)
      await harness.becomes(task, { native: { target: 1, sent: 1 } })
    }
    const [acknowledged, other] = tasks as [number, number]
    const client = await harness.db.pool.connect()
    try {
      await client.query('BEGIN')
      // On a busy machine the lock is held for longer than the sessions of Herald may.
      await client.query('SET LOCAL idle_in_transaction_session_timeout = 0')
      await client.query(`SELECT FROM inbox WHERE task_id = ${acknowledged} FOR UPDATE`)
      connection.ack(acknowledged)
      await until(async () => {
        const { rows } = await harness.db.pool.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
        return rows.length > 0
      })
      // The other message is counted again by a read of the whole inbox.
      await loseCount(other)
      await harness.becomes(other, { native: { target: 1, sent: 1 } })
    } finally {
      await client.query('COMMIT')
      client.release()
    }
    await harness.becomes(acknowledged, { native: { target: 1, sent: 1, received: 1 } })
    const last = await harness.notify(app, [device])
    await connection.gets(last)
    expect(connection.pushes()).toEqual([acknowledged, other, last])
  })

  it('delivers a message with ttl 0 to connected devices, and stores nothing', async () => {
    const [online, offline] = [await harness.addDevice(app), await harness.addDevice(app)]
    const connection = await open(url, online)
    await until(() => harness.isOnline(online))
    const task = await harness.notify(app, [online, offline], { ttl: 0 })
    await connection.gets(task)
    await harness.becomes(task, { native: { target: 1, sent: 1 } })
    expect(await harness.inboxOf(online)).toEqual([])
    connection.ack(task)
    await harness.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
  })

  it('closes the older of two connections with 4409 and leaves the device online', async () => {
    const device = await harness.addDevice(app)
    const first = await open(url, device)
    const second = await open(url, device)
    expect(await first.closed()).toMatchObject({ code: 4409 })
    await until(() => harness.isOnline(device))
    const task = await harness.notify(app, [device])
    await second.gets(task)
    expect(second.isClosed()).toBe(false)
  })

  it('closes the connection with 4401 when the push token is replaced, and lets the new token in', async () => {
    const device = await harness.addDevice(app)
    const tokens = await openPushTokens(harness.db, harness.sealer)
    const connection = await open(url, device)
    await until(() => harness.isOnline(device))
    const { rows } = await harness.db.pool.query('SELECT guid FROM device WHERE id = $1', [device.id])
    const pushToken = await replacePushToken(harness.db, tokens, { appId: app }, rows[0].guid)
    expect(await connection.closed()).toMatchObject({ code: 4401 })
    expect(await harness.isOnline(device)).toBe(false)
    const late = await dial(url)
    opened.push(late)
    late.send({ op: 'hello', push_token: device.pushToken })
    expect(await late.closed()).toMatchObject({ code: 4401 })
    const renewed = { ...device, pushToken: pushToken! }
    const next = await open(url, renewed)
    await until(() => harness.isOnline(device))
    const task = await harness.notify(app, [renewed])
    await next.gets(task)
  })

  it('closes the connection of a former owner, and of a removed device', async () => {
    const tokens = await openPushTokens(harness.db, harness.sealer)
    const claim = async (guid: string, userId: bigint) => {
      const { deviceId, pushToken } = await claimDevice(harness.db, tokens, { appId: app, guid, userId })
      return { id: deviceId, pushToken }
    }
    await harness.db.pool.query(
      `INSERT INTO app_user (id, app_id, username) VALUES (1, $1, 'one'), (2, $1, 'two')`,
      [app],
    )
    const shared = await claim('shared', 1n)
    const removed = await claim('removed', 1n)
    const [former, gone] = [await open(url, shared), await open(url, removed)]
    await claim('shared', 2n)
    await removeDevice(harness.db, app, removed.id)
    expect(await former.closed()).toMatchObject({ code: 4401 })
    expect(await gone.closed()).toMatchObject({ code: 4401 })
  })

  it('keeps the newest of two connections of a device that say hello at the same time', async () => {
    const device = await harness.addDevice(app)
    const pair = await Promise.all([dial(url), dial(url)])
    opened.push(...pair)
    for (const connection of pair) connection.send({ op: 'hello', push_token: device.pushToken })
    await until(() => pair.some((connection) => connection.isClosed()))
    const [replaced] = pair.filter((connection) => connection.isClosed())
    expect(await replaced!.closed()).toMatchObject({ code: 4409 })
    const newest = pair.find((connection) => connection !== replaced)!
    const task = await harness.notify(app, [device])
    await newest.gets(task)
    expect(newest.isClosed()).toBe(false)
  })

  it.each([
    ['an unknown token', { op: 'hello', push_token: 'unknown' }, 4401],
    ['a hello without a token', { op: 'hello' }, 4401],
    ['an acknowledgement before the hello', { op: 'ack', task_ids: [1] }, 4401],
    ['an unknown op', { op: 'subscribe' }, 4400],
    ['invalid JSON', 'hello?', 4400],
    ['a frame that is not an object', [1, 2], 4400],
  ])('closes on %s', async (_name, frame, code) => {
    const connection = await dial(url)
    opened.push(connection)
    connection.send(frame)
    expect(await connection.closed()).toMatchObject({ code, reason: expect.stringMatching(/\w+ \w+/) })
  })

  it('closes a device that repeats its hello, sends binary or acknowledges invalid ids', async () => {
    const device = await harness.addDevice(app)
    for (const send of [
      (c: Connected) => c.send({ op: 'hello', push_token: device.pushToken }),
      (c: Connected) => c.socket.send(Buffer.from([1, 2])),
      (c: Connected) => c.send({ op: 'ack', task_ids: ['x'] }),
      (c: Connected) => c.send({ op: 'ack', task_ids: [1.5] }),
      (c: Connected) => c.send({ op: 'ack' }),
    ]) {
      const connection = await open(url, device)
      send(connection)
      expect(await connection.closed()).toMatchObject({ code: 4400 })
    }
  })

  it('refuses frames that are too large without reading them completely', async () => {
    const device = await harness.addDevice(app)
    const connection = await open(url, device)
    connection.send({ op: 'ack', task_ids: [1], padding: 'x'.repeat(100_000) })
    expect(await connection.closed()).toMatchObject({ code: 1009 })
  })

  it('disconnects a device that sends too many frames', async () => {
    const device = await harness.addDevice(app)
    const connection = await open(url, device)
    for (let n = 0; n < 500; n++) connection.ack(1)
    expect(await connection.closed()).toMatchObject({ code: 4429 })
  })

  it('refuses connections without the subprotocol and at other paths', async () => {
    await expect(dial(url, { protocols: [] })).rejects.toThrow('400')
    await expect(dial(url, { protocols: ['other'] })).rejects.toThrow('400')
    await expect(dial(url.replace('/native', '/elsewhere'))).rejects.toThrow('404')
    const plain = await fetch(`http://127.0.0.1:${port}/native`)
    expect(plain.status).toBe(404)
  })

  it('ends its process when its watchdog reports it dead', async () => {
    const died: string[] = []
    let onDead: ((reason: string) => void) | undefined
    const work: typeof harness.queues.work = (name, options, handler) => {
      onDead = options.onDead
      return harness.queues.work(name, options, handler)
    }
    const running = await nativeGateway().start({
      ...harness,
      settings: { ...harness.settings, gatewayPort: await freePort() },
      queues: { ...harness.queues, work },
      die: (reason) => void died.push(reason),
    })
    onDead?.('it took nothing')
    expect(died).toEqual(['it took nothing'])
    await running.stop()
  })

  it('removes the presence of a device that disconnected', async () => {
    const device = await harness.addDevice(app)
    const connection = await open(url, device)
    await until(() => harness.isOnline(device))
    connection.cut()
    await until(async () => !(await harness.isOnline(device)))
  })

  it('writes its presence again when Postgres has lost it', async () => {
    const device = await harness.addDevice(app)
    await open(url, device)
    await until(() => harness.isOnline(device))
    // Counted in the same transaction: the gateway may write it again at once.
    const results: unknown = await harness.db.pool.query(
      'BEGIN; TRUNCATE presence; SELECT count(*)::int AS left FROM presence; COMMIT',
    )
    expect(results).toMatchObject([{}, {}, { rows: [{ left: 0 }] }, {}])
    await until(() => harness.isOnline(device), { what: 'its presence again' })
  })

  it('leaves no presence of a device that disconnects while its presence is written again', async () => {
    const [device, other] = [await harness.addDevice(app), await harness.addDevice(app)]
    const [connection, second] = [await open(url, device), await open(url, other)]
    await until(async () => (await harness.isOnline(device)) && (await harness.isOnline(other)))
    const locks = async (granted: boolean) =>
      (
        await harness.db.pool.query(
          `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND granted = $1`,
          [granted],
        )
      ).rows.length
    await harness.db.pool.query(
      `CREATE FUNCTION stall() RETURNS trigger LANGUAGE plpgsql AS
         'BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END';
       CREATE TRIGGER stall BEFORE INSERT ON presence FOR EACH ROW WHEN (NEW.device_id = ${device.id}) EXECUTE FUNCTION stall()`,
    )
    const locker = await harness.db.pool.connect()
    await locker.query('SELECT pg_advisory_lock(4711)')
    await locker.query('DELETE FROM presence WHERE device_id = $1', [device.id])
    await until(async () => (await locks(false)) === 1, { what: 'the round that writes it again' })
    connection.cut()
    second.cut()
    // Both are removed together; for one of them it has no effect.
    await until(async () => !(await harness.isOnline(other)))
    await locker.query('SELECT pg_advisory_unlock(4711)')
    locker.release()
    await until(async () => (await locks(true)) === 0)
    await until(async () => !(await harness.isOnline(device)))
    await harness.db.pool.query('DROP FUNCTION stall() CASCADE')
  })

  it('does not deliver a message to the new owner of a device', async () => {
    const device = await harness.addDevice(app)
    const connection = await open(url, device)
    await until(() => harness.isOnline(device))
    await harness.db.pool.query(`UPDATE device SET moved_at = now() + interval '1 hour' WHERE id = $1`, [
      device.id,
    ])
    const task = await harness.notify(app, [device])
    await harness.becomes(task, { native: { target: 1, expired: 1 } })
    expect(connection.pushes()).toEqual([])
  })

  it('delivers at most the newest hundred waiting messages', async () => {
    const device = await harness.addDevice(app)
    const tasks: number[] = []
    for (let n = 0; n < 110; n++) tasks.push(await harness.notify(app, [device]))
    const connection = await open(url, device)
    await connection.gets(tasks.at(-1)!)
    expect(connection.pushes()).toEqual(tasks.slice(10))
    await harness.becomes(tasks[0]!, { native: { target: 1, expired: 1 } })
    await harness.becomes(tasks[10]!, { native: { target: 1, sent: 1 } })
  })

  it('stops writing to a device that does not read, disconnects it, and keeps its messages', async () => {
    const device = await harness.addDevice(app)
    const connection = await open(url, device)
    await until(() => harness.isOnline(device))
    connection.socket.pause()
    const message = { ...plainMessage, body: 'x'.repeat(500_000) }
    const tasks: number[] = []
    // Kernel buffers take some megabytes before those of the gateway fill.
    for (let n = 0; n < 30; n++) tasks.push(await harness.notify(app, [device], { message }))
    await until(async () => !(await harness.isOnline(device)))
    // A batch whose job was delayed is settled later; the order holds for messages that are in the inbox when the device connects.
    await until(async () => (await harness.inboxOf(device)).length === tasks.length)
    const written = await harness.db.pool.query(
      'SELECT count(*)::int AS n FROM inbox WHERE device_id = $1 AND sent_at IS NOT NULL',
      [device.id],
    )
    expect(written.rows[0].n).toBeLessThan(30)
    const again = await open(url, device)
    await again.gets(tasks.at(-1)!)
    expect(again.pushes()).toEqual(tasks)
    again.ack(...tasks)
    for (const task of tasks) await harness.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
  })
})
