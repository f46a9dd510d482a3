import { freePort, until } from '@herald/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { nativeGateway } from '../src/index.ts'
import { connect, dial, openStage, plainMessage, type Stage } from './stage.ts'

type Connected = Awaited<ReturnType<typeof dial>>

describe('a gateway', () => {
  let stage: Stage
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
    stage = await openStage()
    const gateway = await stage.startGateway()
    url = gateway.url
    port = gateway.port
    app = await stage.addApplication('gateway')
  })
  afterEach(async () => {
    expect(await stage.imbalances()).toEqual([])
    for (const connection of opened.splice(0)) connection.cut()
  })
  afterAll(() => stage.close())

  it('welcomes a device and brings it a message, which it acknowledges', async () => {
    const device = await stage.addDevice(app)
    const connection = await open(url, device)
    expect(connection.frames[0]).toEqual({ op: 'welcome', heartbeat: 30 })
    await until(() => stage.isOnline(device))
    const task = await stage.notify(app, [device], {
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
    await stage.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
    expect(await stage.inboxOf(device)).toEqual([])
  })

  it('measures what it sends, hears and holds, each device and task once', async () => {
    const gateway = await stage.startGateway()
    const shown = async (name: string) => {
      const found = await gateway.context.registry.getSingleMetric(name)!.get()
      return found.values
        .filter(({ labels }) => !('le' in labels))
        .map((sample) => ({ ...sample, of: (sample as { metricName?: string }).metricName }))
        .filter(({ of = '' }) => !of.endsWith('_sum'))
        .reduce((sum, { value }) => sum + value, 0)
    }
    const [prompt, late] = [await stage.addDevice(app), await stage.addDevice(app)]
    const first = await open(gateway.url, prompt)
    await until(() => stage.isOnline(prompt))
    const task = await stage.notify(app, [prompt, late])
    await first.gets(task)
    first.ack(task)
    // This one waits in the inbox until its device comes, which says more than once that it has it.
    await stage.becomes(task, { native: { target: 2, sent: 1, received: 1 } })
    const second = await open(gateway.url, late)
    await second.gets(task)
    second.ack(task)
    second.ack(task)
    await stage.becomes(task, { native: { target: 2, sent: 2, received: 2 } })
    await until(async () => (await shown('herald_received_total')) === 2)
    expect(await shown('herald_recipients_total')).toBe(2)
    expect(await shown('herald_native_connections')).toBe(2)
    expect(await shown('herald_native_written_total')).toBe(2)
    await until(async () => (await shown('herald_native_acknowledged_total')) === 3)
    expect(await shown('herald_notify_to_vendor_seconds')).toBe(1)
    await gateway.stop()
  })

  it('counts a late acknowledgement once, however often it comes', async () => {
    const device = await stage.addDevice(app)
    const connection = await open(url, device)
    await until(() => stage.isOnline(device))
    const task = await stage.notify(app, [device])
    await connection.gets(task)
    await stage.becomes(task, { native: { target: 1, sent: 1 } })
    expect(await stage.inboxOf(device)).toEqual([task])
    connection.ack(task, task)
    connection.ack(task)
    connection.ack(task, 12345)
    await stage.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
    expect(await stage.inboxOf(device)).toEqual([])
  })

  it('keeps messages for an offline device and delivers them in order after the welcome', async () => {
    const device = await stage.addDevice(app)
    const tasks = []
    for (let n = 0; n < 5; n++) tasks.push(await stage.notify(app, [device]))
    expect(await stage.counters(tasks[0]!)).toEqual({ native: { target: 1 } })
    const connection = await open(url, device)
    await connection.gets(tasks[4]!)
    expect(connection.pushes()).toEqual(tasks)
    for (const task of tasks) await stage.becomes(task, { native: { target: 1, sent: 1 } })
    connection.ack(...tasks)
    for (const task of tasks) await stage.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
  })

  it('writes an unacknowledged message again to the next connection, without counting it again', async () => {
    const device = await stage.addDevice(app)
    const first = await open(url, device)
    await until(() => stage.isOnline(device))
    const task = await stage.notify(app, [device])
    await first.gets(task)
    await stage.becomes(task, { native: { target: 1, sent: 1 } })
    first.cut()
    const second = await open(url, device)
    await second.gets(task)
    second.ack(task)
    await stage.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
    expect(second.pushes()).toEqual([task])
  })

  it('counts what it has written when the count was lost, and does not write it twice', async () => {
    const device = await stage.addDevice(app)
    const connection = await open(url, device)
    await until(() => stage.isOnline(device))
    const task = await stage.notify(app, [device])
    await connection.gets(task)
    await stage.becomes(task, { native: { target: 1, sent: 1 } })
    // As another leaves it that settled the batch of a gateway it took for dead.
    await stage.db.pool.query(
      `WITH unsent AS (UPDATE inbox SET sent_at = NULL WHERE task_id = ${task})
       UPDATE counter SET sent = 0 WHERE task_id = ${task}`,
    )
    await stage.becomes(task, { native: { target: 1, sent: 1 } })
    expect(connection.pushes()).toEqual([task])
  })

  it('delivers a message with ttl 0 to whom it can reach now, and stores nothing', async () => {
    const [online, offline] = [await stage.addDevice(app), await stage.addDevice(app)]
    const connection = await open(url, online)
    await until(() => stage.isOnline(online))
    const task = await stage.notify(app, [online, offline], { ttl: 0 })
    await connection.gets(task)
    await stage.becomes(task, { native: { target: 1, sent: 1 } })
    expect(await stage.inboxOf(online)).toEqual([])
    connection.ack(task)
    await stage.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
  })

  it('closes the older of two connections with 4409 and leaves the device online', async () => {
    const device = await stage.addDevice(app)
    const first = await open(url, device)
    const second = await open(url, device)
    expect(await first.closed()).toMatchObject({ code: 4409 })
    await until(() => stage.isOnline(device))
    const task = await stage.notify(app, [device])
    await second.gets(task)
    expect(second.isClosed()).toBe(false)
  })

  it('is told of the newest when two connections of a device say hello in one breath', async () => {
    const device = await stage.addDevice(app)
    const pair = await Promise.all([dial(url), dial(url)])
    opened.push(...pair)
    for (const connection of pair) connection.send({ op: 'hello', push_token: device.pushToken })
    await until(() => pair.some((connection) => connection.isClosed()))
    const [loser] = pair.filter((connection) => connection.isClosed())
    expect(await loser!.closed()).toMatchObject({ code: 4409 })
    const winner = pair.find((connection) => connection !== loser)!
    const task = await stage.notify(app, [device])
    await winner.gets(task)
    expect(winner.isClosed()).toBe(false)
  })

  it.each([
    ['an unknown token', { op: 'hello', push_token: 'nobody' }, 4401],
    ['a hello without a token', { op: 'hello' }, 4401],
    ['an acknowledgement before the hello', { op: 'ack', task_ids: [1] }, 4401],
    ['an unknown op', { op: 'subscribe' }, 4400],
    ['something that is no JSON', 'hello?', 4400],
    ['a frame that is no object', [1, 2], 4400],
  ])('closes on %s', async (_name, frame, code) => {
    const connection = await dial(url)
    opened.push(connection)
    connection.send(frame)
    expect(await connection.closed()).toMatchObject({ code, reason: expect.stringMatching(/\w+ \w+/) })
  })

  it('closes a device that says hello twice, sends binary or acknowledges nonsense', async () => {
    const device = await stage.addDevice(app)
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

  it('ends frames that are too large without reading them whole', async () => {
    const device = await stage.addDevice(app)
    const connection = await open(url, device)
    connection.send({ op: 'ack', task_ids: [1], padding: 'x'.repeat(100_000) })
    expect(await connection.closed()).toMatchObject({ code: 1009 })
  })

  it('ends a device that floods it with frames', async () => {
    const device = await stage.addDevice(app)
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

  it('ends its process when its watchdog gives it up', async () => {
    const died: string[] = []
    let onDead: ((reason: string) => void) | undefined
    const work: typeof stage.queues.work = (name, options, handler) => {
      onDead = options.onDead
      return stage.queues.work(name, options, handler)
    }
    const running = await nativeGateway().start({
      ...stage,
      settings: { ...stage.settings, gatewayPort: await freePort() },
      queues: { ...stage.queues, work },
      die: (reason) => void died.push(reason),
    })
    onDead?.('it took nothing')
    expect(died).toEqual(['it took nothing'])
    await running.stop()
  })

  it('forgets a device that has gone', async () => {
    const device = await stage.addDevice(app)
    const connection = await open(url, device)
    await until(() => stage.isOnline(device))
    connection.cut()
    await until(async () => !(await stage.isOnline(device)))
  })

  it('writes its presence again when Postgres has lost it', async () => {
    const device = await stage.addDevice(app)
    await open(url, device)
    await until(() => stage.isOnline(device))
    await stage.db.pool.query('TRUNCATE presence')
    expect(await stage.isOnline(device)).toBe(false)
    await until(() => stage.isOnline(device), { seconds: 5 })
  })

  it('leaves no presence of a device that goes while its presence is written again', async () => {
    const [device, other] = [await stage.addDevice(app), await stage.addDevice(app)]
    const [connection, witness] = [await open(url, device), await open(url, other)]
    await until(async () => (await stage.isOnline(device)) && (await stage.isOnline(other)))
    const locks = async (granted: boolean) =>
      (
        await stage.db.pool.query(
          `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND granted = $1`,
          [granted],
        )
      ).rows.length
    await stage.db.pool.query(
      `CREATE FUNCTION dally() RETURNS trigger LANGUAGE plpgsql AS
         'BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END';
       CREATE TRIGGER dally BEFORE INSERT ON presence FOR EACH ROW WHEN (NEW.device_id = ${device.id}) EXECUTE FUNCTION dally()`,
    )
    const holder = await stage.db.pool.connect()
    await holder.query('SELECT pg_advisory_lock(4711)')
    await holder.query('DELETE FROM presence WHERE device_id = $1', [device.id])
    await until(async () => (await locks(false)) === 1, { what: 'the round that writes it again' })
    connection.cut()
    witness.cut()
    // They are taken back together, one of them in vain.
    await until(async () => !(await stage.isOnline(other)))
    await holder.query('SELECT pg_advisory_unlock(4711)')
    holder.release()
    await until(async () => (await locks(true)) === 0)
    await until(async () => !(await stage.isOnline(device)))
    await stage.db.pool.query('DROP FUNCTION dally() CASCADE')
  })

  it('does not bring a message to the new owner of a device', async () => {
    const device = await stage.addDevice(app)
    const connection = await open(url, device)
    await until(() => stage.isOnline(device))
    await stage.db.pool.query(`UPDATE device SET moved_at = now() + interval '2 seconds' WHERE id = $1`, [
      device.id,
    ])
    const task = await stage.notify(app, [device])
    await stage.becomes(task, { native: { target: 1, expired: 1 } })
    expect(connection.pushes()).toEqual([])
  })

  it('brings a device at most the newest hundred of what waits for it', async () => {
    const device = await stage.addDevice(app)
    const tasks: number[] = []
    for (let n = 0; n < 110; n++) tasks.push(await stage.notify(app, [device]))
    const connection = await open(url, device)
    await connection.gets(tasks.at(-1)!)
    expect(connection.pushes()).toEqual(tasks.slice(10))
    await stage.becomes(tasks[0]!, { native: { target: 1, expired: 1 } })
    await stage.becomes(tasks[10]!, { native: { target: 1, sent: 1 } })
  })

  it('stops writing to a device that does not read, cuts it off, and keeps its messages', async () => {
    const device = await stage.addDevice(app)
    const connection = await open(url, device)
    await until(() => stage.isOnline(device))
    connection.socket.pause()
    const message = { ...plainMessage, body: 'x'.repeat(500_000) }
    const tasks: number[] = []
    // Kernel buffers take some megabytes before the gateway's own begin to fill.
    for (let n = 0; n < 30; n++) tasks.push(await stage.notify(app, [device], { message }))
    await until(async () => !(await stage.isOnline(device)), { seconds: 40 })
    const written = await stage.db.pool.query(
      'SELECT count(*)::int AS n FROM inbox WHERE device_id = $1 AND sent_at IS NOT NULL',
      [device.id],
    )
    expect(written.rows[0].n).toBeLessThan(30)
    const again = await open(url, device)
    await again.gets(tasks.at(-1)!)
    expect(again.pushes()).toEqual(tasks)
    again.ack(...tasks)
    for (const task of tasks) await stage.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
  })
})
