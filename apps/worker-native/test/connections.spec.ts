import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { createConnections } from '../src/connections.ts'

/** A socket that remembers what was done to it. */
class FakeSocket extends EventEmitter {
  readonly OPEN = 1
  readyState = 1
  bufferedAmount = 0
  sent: string[] = []
  pings = 0
  closedWith: number | undefined
  terminated = false
  send(data: unknown, _options?: unknown, onRead?: () => void) {
    this.sent.push(String(data))
    if (typeof onRead === 'function') this.onRead = onRead
  }
  onRead = () => {}
  ping() {
    this.pings++
  }
  close(code: number) {
    this.closedWith = code
    this.readyState = 2
  }
  terminate() {
    this.terminated = true
    this.readyState = 3
    this.emit('close')
  }
  says(frame: object) {
    this.emit('message', Buffer.from(JSON.stringify(frame)), false)
  }
}

describe('connections over time', () => {
  let connection = 0
  let greetings = 0
  const left: number[] = []
  const roomFor: number[] = []
  let connections: ReturnType<typeof createConnections>
  const frame = Buffer.from('{}')

  beforeEach(() => {
    jest.useFakeTimers()
    left.length = 0
    roomFor.length = 0
    greetings = 0
    connections = createConnections({
      greeter: {
        async greet(pushToken) {
          greetings++
          if (pushToken === 'lost') throw new Error('Postgres is away')
          return { deviceId: Number(pushToken), appId: 'app', connection: ++connection, newest: true }
        },
        leave: ({ connection }) => void left.push(connection),
        flushed: async () => {},
      },
      onWelcome: () => {},
      onAcknowledged: () => {},
      onLost: () => {},
      onRoom: (deviceId) => void roomFor.push(deviceId),
      onClosed: () => {},
    })
  })
  afterEach(() => {
    connections.stop()
    jest.useRealTimers()
  })

  function open(): FakeSocket {
    const socket = new FakeSocket()
    connections.accept(socket as never, '127.0.0.1')
    return socket
  }
  async function openDevice(deviceId = 7): Promise<FakeSocket> {
    const socket = open()
    socket.says({ op: 'hello', push_token: String(deviceId) })
    await jest.advanceTimersByTimeAsync(0)
    return socket
  }
  const pass = (seconds: number) => jest.advanceTimersByTimeAsync(seconds * 1000)

  it('closes who does not say hello within ten seconds, whatever pongs it sends', async () => {
    const socket = open()
    await pass(9)
    socket.emit('pong')
    expect(socket.closedWith).toBeUndefined()
    await pass(2)
    expect(socket.closedWith).toBe(4401)
  })

  it('tells a device to come later when it cannot be looked up', async () => {
    const socket = open()
    socket.says({ op: 'hello', push_token: 'lost' })
    await pass(0)
    expect(socket.closedWith).toBe(1013)
  })

  it('pings a silent device once and cuts it off when no pong comes', async () => {
    const socket = await openDevice()
    await pass(29)
    expect(socket.pings).toBe(0)
    await pass(30)
    expect(socket.pings).toBe(1)
    await pass(18)
    expect([socket.closedWith, socket.terminated]).toEqual([4408, true])
    expect(connections.sessions.size).toBe(0)
    expect(left).toEqual([connection])
  })

  it('keeps a device that answers its pings', async () => {
    const socket = await openDevice()
    for (let n = 0; n < 5; n++) {
      await pass(32)
      socket.emit('pong')
    }
    expect([socket.pings, socket.closedWith]).toEqual([5, undefined])
  })

  it('writes nothing more to a device that does not read, and cuts it off after ten seconds', async () => {
    const socket = await openDevice()
    expect(connections.write(7, 1, frame)).toBe(true)
    socket.bufferedAmount = 300_000
    expect(connections.write(7, 2, frame)).toBe(false)
    await pass(8)
    expect(socket.closedWith).toBeUndefined()
    await pass(5)
    expect([socket.closedWith, socket.terminated]).toEqual([4408, true])
  })

  it('goes on with a device that reads late', async () => {
    const socket = await openDevice()
    socket.bufferedAmount = 250_000
    expect(connections.write(7, 1, Buffer.alloc(50_000))).toBe(true)
    socket.bufferedAmount = 300_000
    await pass(5)
    socket.bufferedAmount = 0
    socket.onRead()
    expect(roomFor).toEqual([7])
    expect(connections.write(7, 2, frame)).toBe(true)
    await pass(20)
    expect(socket.closedWith).toBeUndefined()
  })

  it('writes a task to a connection once', async () => {
    const socket = await openDevice()
    expect([connections.write(7, 1, frame), connections.write(7, 1, frame)]).toEqual([true, true])
    expect(socket.sent.length).toBe(2)
    socket.says({ op: 'ack', task_ids: [1] })
    expect(connections.wasWritten(7, 1)).toBe(false)
  })

  it('counts frames by the second', async () => {
    const socket = await openDevice()
    for (let n = 0; n < 5; n++) {
      for (let k = 0; k < 150; k++) socket.says({ op: 'ack', task_ids: [1] })
      await pass(1)
    }
    expect(socket.closedWith).toBeUndefined()
    for (let k = 0; k < 201; k++) socket.says({ op: 'ack', task_ids: [1] })
    expect(socket.closedWith).toBe(4429)
  })

  it('weighs an acknowledgement by the tasks it names, because each is a row', async () => {
    const socket = await openDevice()
    const task_ids = Array.from({ length: 1000 }, (_, n) => n + 1)
    socket.says({ op: 'ack', task_ids })
    socket.says({ op: 'ack', task_ids })
    expect(socket.closedWith).toBeUndefined()
    socket.says({ op: 'ack', task_ids })
    expect(socket.closedWith).toBe(4429)
  })

  it('refuses a device that connects too often before it is looked up, and leaves its connection alone', async () => {
    const first = await openDevice()
    const sockets: FakeSocket[] = []
    for (let n = 0; n < 30; n++) sockets.push(await openDevice())
    const refused = sockets.filter(({ closedWith }) => closedWith === 4429)
    expect([greetings, refused.length]).toEqual([20, 11])
    expect(first.closedWith).toBe(4409)
    const [holder] = sockets.filter(({ closedWith }) => closedWith === undefined)
    expect(connections.write(7, 1, frame)).toBe(true)
    expect(holder!.sent).toContain('{}')
    // Only those that were replaced have left.
    expect(left.length).toBe(19)
  })

  it('moves everybody away within the time given, and cuts off who does not go', async () => {
    const sockets: FakeSocket[] = []
    for (let n = 1; n <= 10; n++) sockets.push(await openDevice(n))
    const moved = connections.moveAll(1000)
    await pass(0.5)
    const closed = sockets.filter(({ closedWith }) => closedWith === 4503).length
    expect(closed).toBeGreaterThan(3)
    expect(closed).toBeLessThan(8)
    for (const socket of sockets.slice(0, 5)) socket.emit('close')
    await pass(4)
    await moved
    expect(sockets.slice(5).every(({ terminated }) => terminated)).toBe(true)
    expect(connections.count()).toBe(0)
  })
})
