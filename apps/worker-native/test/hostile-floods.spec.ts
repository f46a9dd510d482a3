import { connect as connectTcp, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connect, dial, type Harness, handshake, openHarness, type TestDevice } from './harness.ts'

const PINGS = 1_000_000
const FRAGMENTS = 16_000
const FRAGMENTED = 10
const FLOODERS = 110
const MAX_GROWTH = 5 * 1024 * 1024

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

describe('a gateway that is flooded', () => {
  let harness: Harness
  let gateway: Awaited<ReturnType<Harness['startGateway']>>
  let app: string
  let device: TestDevice
  let honest: Awaited<ReturnType<typeof connect>>
  const sockets: Socket[] = []

  beforeAll(async () => {
    harness = await openHarness()
    gateway = await harness.startGateway()
    app = await harness.addApplication('floods')
    device = await harness.addDevice(app)
    honest = await connect(gateway.url, device)
    await until(() => harness.isOnline(device))
  })
  afterAll(async () => {
    for (const socket of sockets) socket.destroy()
    await harness.close()
  })

  /** The gateway runs in this process. */
  function heapUsed(): number {
    collectGarbage()
    return process.memoryUsage().heapUsed
  }

  async function metric(name: string, labels: object = {}): Promise<number> {
    const { values } = await gateway.context.registry.getSingleMetric(name)!.get()
    return values
      .filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
      .reduce((sum, { value }) => sum + value, 0)
  }
  const floodsClosed = () => metric('herald_native_closed_total', { code: 4429 })

  /** A TCP socket that has sent the handshake, and what it has read. */
  async function openRaw(): Promise<{ socket: Socket; read(): Buffer }> {
    const socket = connectTcp(gateway.port, '127.0.0.1')
    sockets.push(socket)
    let read = Buffer.alloc(0)
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      read = Buffer.concat([read, chunk])
    })
    socket.write(handshake())
    await until(() => read.includes('\r\n\r\n'), { what: 'the upgrade' })
    return { socket, read: () => read.subarray(read.indexOf('\r\n\r\n') + 4) }
  }

  async function stillDelivers(): Promise<void> {
    const task = await harness.notify(app, [device])
    await honest.gets(task)
    honest.ack(task)
    await harness.becomes(task, { native: { target: 1, sent: 1, received: 1 } })
    expect(honest.isClosed()).toBe(false)
  }

  it.each([false, true])(
    'closes a client that pings and reads nothing; identified: %s',
    async (identified) => {
      const { socket, read } = await openRaw()
      if (identified) {
        socket.write(
          frame(0x81, JSON.stringify({ op: 'hello', push_token: (await harness.addDevice(app)).pushToken })),
        )
        await until(() => read().includes('welcome'), { what: 'the welcome' })
      }
      socket.pause()
      const before = heapUsed()
      const closedBefore = await floodsClosed()
      const ping = frame(0x89, 'sixteen bytes ..')
      socket.write(Buffer.alloc(ping.length * PINGS, ping))
      const growth = () => heapUsed() - before
      await until(async () => (await floodsClosed()) > closedBefore || growth() > MAX_GROWTH, {
        everyMs: 200,
      })
      expect(growth()).toBeLessThan(MAX_GROWTH)
      expect((await floodsClosed()) - closedBefore).toBe(1)
      await stillDelivers()
    },
  )

  it('closes a client that sends too many pings with 4429, and answers a few', async () => {
    const connection = await dial(gateway.url)
    let pongs = 0
    connection.socket.on('pong', () => pongs++)
    for (let n = 0; n < 100; n++) connection.socket.ping()
    await until(() => pongs === 100, { what: 'the pongs' })
    // The count starts again every second, so one of two seconds has more than 200.
    for (let n = 0; n < 700; n++) connection.socket.ping()
    expect(await connection.closed()).toMatchObject({ code: 4429 })
  })

  it('closes clients that send a message in thousands of fragments', async () => {
    const before = heapUsed()
    const closedBefore = await floodsClosed()
    const clients = await Promise.all(Array.from({ length: FRAGMENTED }, openRaw))
    const fragments = Buffer.concat([frame(0x01, 'x'), Buffer.alloc(7 * FRAGMENTS, frame(0x00, 'x'))])
    for (const { socket } of clients) socket.write(fragments)
    const closed = async () => (await floodsClosed()) - closedBefore
    const growth = () => heapUsed() - before
    await until(async () => (await closed()) === FRAGMENTED || growth() > MAX_GROWTH, { everyMs: 200 })
    expect(growth()).toBeLessThan(MAX_GROWTH)
    for (const { read } of clients) {
      const close = await until(() => read().length >= 4 && read(), { what: 'the close frame' })
      expect([close[0], close.readUInt16BE(2)]).toEqual([0x88, 4429])
    }
    expect(await closed()).toBe(FRAGMENTED)
    await stillDelivers()
  })

  it('keeps the acknowledgement of a device next to a flood of invented ones', async () => {
    const devices = await Promise.all(Array.from({ length: FLOODERS }, () => harness.addDevice(app)))
    const flooders = await Promise.all(devices.map((flooder) => connect(gateway.url, flooder)))
    const task = await harness.notify(app, [device])
    await honest.gets(task)
    await harness.becomes(task, { native: { target: 1, sent: 1 } })
    // With ttl 0 nothing is in the inbox, so this message is not written again to the next connection.
    const returning = await harness.addDevice(app)
    const first = await connect(gateway.url, returning)
    await until(() => harness.isOnline(returning))
    const late = await harness.notify(app, [returning], { ttl: 0 })
    await first.gets(late)
    await harness.becomes(late, { native: { target: 1, sent: 1 } })
    first.cut()
    const second = await connect(gateway.url, returning)
    const heardBefore = await metric('herald_native_acknowledged_total')
    // Nothing can be written to Postgres until the flood has ended.
    const locker = await harness.db.pool.connect()
    await locker.query(
      'BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0; LOCK TABLE receipt IN ACCESS EXCLUSIVE MODE',
    )
    for (const [n, flooder] of flooders.entries())
      for (let k = 0; k < 2; k++)
        flooder.ack(...Array.from({ length: 1000 }, (_, i) => 1e12 + n * 2000 + k * 1000 + i))
    const heard = async () => (await metric('herald_native_acknowledged_total')) - heardBefore
    await until(async () => (await heard()) === FLOODERS * 2000, {
      what: 'all acknowledgements',
    })
    honest.ack(task)
    second.ack(late)
    await until(async () => (await heard()) === FLOODERS * 2000 + 2)
    await locker.query('ROLLBACK')
    locker.release()
    for (const received of [task, late])
      await harness.becomes(received, { native: { target: 1, sent: 1, received: 1 } })
    for (const connection of [...flooders, second]) connection.cut()
  })
})

/** A frame of a client, with a mask of zeros. */
function frame(head: number, text: string): Buffer {
  const body = Buffer.from(text)
  if (body.length > 125) throw new Error('too long for a short frame')
  return Buffer.concat([Buffer.from([head, 0x80 | body.length, 0, 0, 0, 0]), body])
}
