import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { createConnections } from '../src/connections.ts'

/** A socket that records calls. */
class FakeSocket extends EventEmitter {
  readonly OPEN = 1
  readyState = 1
  bufferedAmount = 0
  sent: string[] = []
  pings = 0
  pongs = 0
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
  pong() {
    this.pongs++
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
  let lookups = 0
  let hasGivenUp = () => false
  let connectedAway: boolean | undefined
  const disconnected: number[] = []
  const writable: number[] = []
  const changed: [number, boolean][] = []
  const here: number[] = []
  const acknowledged: { written: number[]; others: number[] }[] = []
  let connections: ReturnType<typeof createConnections>
  const frame = Buffer.from('{}')

  beforeEach(() => {
    jest.useFakeTimers()
    disconnected.length = 0
    writable.length = 0
    changed.length = 0
    here.length = 0
    acknowledged.length = 0
    lookups = 0
    connections = createConnections({
      presence: {
        async connect(pushToken, isOver, away) {
          lookups++
          hasGivenUp = isOver
          connectedAway = away
          if (pushToken === 'hangs') return new Promise(() => {})
          if (pushToken === 'fails') throw new Error('Postgres is down')
          return {
            deviceId: Number(pushToken),
            appId: 'app',
            connection: ++connection,
            generation: 0,
            newest: true,
            isSeenLongAgo: false,
          }
        },
        change: ({ deviceId }, away) => void changed.push([deviceId, away]),
        disconnect: ({ connection }) => void disconnected.push(connection),
        flushed: async () => {},
      },
      onWelcome: () => {},
      onHere: ({ deviceId }) => void here.push(deviceId),
      onAcknowledged: (_session, written, others) => void acknowledged.push({ written, others }),
      onUnacknowledged: () => {},
      onWritable: (deviceId) => void writable.push(deviceId),
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
  async function openDevice(deviceId = 7, more = {}): Promise<FakeSocket> {
    const socket = open()
    socket.says({ op: 'hello', push_token: String(deviceId), ...more })
    await jest.advanceTimersByTimeAsync(0)
    return socket
  }
  const pass = (seconds: number) => jest.advanceTimersByTimeAsync(seconds * 1000)

  it('writes nothing while the app is away, and records each change once', async () => {
    const socket = await openDevice()
    socket.says({ op: 'away' })
    socket.says({ op: 'away' })
    expect(connections.write(7, 1, frame)).toBe(false)
    socket.says({ op: 'here' })
    socket.says({ op: 'here' })
    expect(connections.write(7, 1, frame)).toBe(true)
    expect(changed).toEqual([
      [7, true],
      [7, false],
    ])
    expect(here).toEqual([7])
    expect(socket.closedWith).toBeUndefined()
  })

  it('writes nothing to a device whose hello says that its app is away, until it is here', async () => {
    const socket = await openDevice(7, { away: true })
    expect([connectedAway, connections.sessions.get(7)?.away]).toEqual([true, true])
    expect(connections.write(7, 1, frame)).toBe(false)
    // As clients do for gateways that do not read it in the hello: it is the present state, so nothing is recorded.
    socket.says({ op: 'away' })
    expect([changed, here]).toEqual([[], []])
    socket.says({ op: 'here' })
    expect(connections.write(7, 1, frame)).toBe(true)
    expect([changed, here]).toEqual([[[7, false]], [7]])
    await openDevice(8)
    expect([connectedAway, connections.sessions.get(8)?.away]).toEqual([false, false])
  })

  it('closes a connection that changes between away and here too often', async () => {
    const socket = await openDevice()
    for (let i = 0; i < 5; i++) for (const op of ['away', 'here']) socket.says({ op })
    await pass(1)
    expect(socket.closedWith).toBeUndefined()
    for (let i = 0; i < 50; i++) for (const op of ['away', 'here']) socket.says({ op })
    expect(socket.closedWith).toBe(4429)
    expect(changed.length).toBeLessThanOrEqual(20)
  })

  it('closes a connection without a hello within ten seconds, whatever pings and pongs it sends', async () => {
    const socket = open()
    await pass(9)
    socket.emit('pong')
    socket.emit('ping')
    expect(socket.closedWith).toBeUndefined()
    await pass(2)
    expect(socket.closedWith).toBe(4401)
  })

  it('does not miss a hello at a tick that is late: sockets are read after it', async () => {
    const [delayed, silent] = [open(), open()]
    await pass(5)
    const now = performance.now.bind(performance)
    // The event loop stood still for twenty seconds.
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + 20_000)
    try {
      await pass(1)
      expect([delayed.closedWith, silent.closedWith]).toEqual([undefined, undefined])
      delayed.says({ op: 'hello', push_token: '7' })
      await pass(1)
      expect([delayed.closedWith, silent.closedWith]).toEqual([undefined, 4401])
      expect(delayed.sent).toEqual(['{"op":"welcome","heartbeat":30}'])
    } finally {
      clock.mockRestore()
    }
  })

  it('closes with 1013 when the device cannot be looked up', async () => {
    const socket = open()
    socket.says({ op: 'hello', push_token: 'fails' })
    await pass(0)
    expect(socket.closedWith).toBe(1013)
  })

  it('tells the lookup when the client has given up', () => {
    const socket = open()
    socket.says({ op: 'hello', push_token: 'hangs' })
    expect(hasGivenUp()).toBe(false)
    socket.emit('close')
    expect(hasGivenUp()).toBe(true)
  })

  it('pings an idle device once and disconnects it when no pong arrives', async () => {
    const socket = await openDevice()
    await pass(29)
    expect(socket.pings).toBe(0)
    await pass(30)
    expect(socket.pings).toBe(1)
    await pass(18)
    expect([socket.closedWith, socket.terminated]).toEqual([4408, true])
    expect(connections.sessions.size).toBe(0)
    expect(disconnected).toEqual([connection])
  })

  it('keeps a device that answers its pings', async () => {
    const socket = await openDevice()
    for (let n = 0; n < 5; n++) {
      await pass(32)
      socket.emit('pong')
    }
    expect([socket.pings, socket.closedWith]).toEqual([5, undefined])
  })

  const beatsIn = (socket: FakeSocket) => socket.sent.filter((sent) => sent === '{"op":"beat"}').length

  it('sends a beat after the welcome and with each ping to a device that asked for it', async () => {
    const [socket, other] = [await openDevice(7, { beats: true }), await openDevice(8)]
    expect(socket.sent.map((sent) => JSON.parse(sent).op)).toEqual(['welcome', 'beat'])
    await pass(32)
    for (const one of [socket, other]) one.emit('pong')
    await pass(32)
    expect([socket.pings, beatsIn(socket)]).toEqual([2, 3])
    expect([other.pings, other.sent]).toEqual([2, ['{"op":"welcome","heartbeat":30}']])
  })

  it('sends beats to a device that is never silent for a heartbeat, away or not', async () => {
    const socket = await openDevice(7, { beats: true })
    for (let n = 0; n < 20; n++) {
      await pass(10)
      socket.says({ op: n % 2 === 0 ? 'away' : 'here' })
    }
    // A client disconnects after 75 seconds without a frame.
    expect(beatsIn(socket)).toBeGreaterThan(200 / 40)
  })

  it('writes nothing more to a device that does not read, and disconnects it after ten seconds', async () => {
    const socket = await openDevice()
    expect(connections.write(7, 1, frame)).toBe(true)
    socket.bufferedAmount = 300_000
    expect(connections.write(7, 2, frame)).toBe(false)
    await pass(8)
    expect(socket.closedWith).toBeUndefined()
    await pass(5)
    expect([socket.closedWith, socket.terminated]).toEqual([4408, true])
  })

  it('continues with a device that reads late', async () => {
    const socket = await openDevice()
    socket.bufferedAmount = 250_000
    expect(connections.write(7, 1, Buffer.alloc(50_000))).toBe(true)
    socket.bufferedAmount = 300_000
    await pass(5)
    socket.bufferedAmount = 0
    socket.onRead()
    expect(writable).toEqual([7])
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

  it('counts frames per second', async () => {
    const socket = await openDevice()
    for (let n = 0; n < 5; n++) {
      for (let k = 0; k < 150; k++) socket.says({ op: 'ack', task_ids: [1] })
      await pass(1)
    }
    expect(socket.closedWith).toBeUndefined()
    for (let k = 0; k < 201; k++) socket.says({ op: 'ack', task_ids: [1] })
    expect(socket.closedWith).toBe(4429)
  })

  it('counts an acknowledgement by its number of tasks, because each is a row', async () => {
    const socket = await openDevice()
    const task_ids = Array.from({ length: 1000 }, (_, n) => n + 1)
    socket.says({ op: 'ack', task_ids })
    socket.says({ op: 'ack', task_ids })
    expect(socket.closedWith).toBeUndefined()
    socket.says({ op: 'ack', task_ids })
    expect(socket.closedWith).toBe(4429)
  })

  it.each(['ping', 'pong'])('counts each %s as a frame, before and after the hello', async (kind) => {
    for (const socket of [open(), await openDevice()]) {
      for (let n = 0; n < 199; n++) socket.emit(kind)
      expect(socket.closedWith).toBeUndefined()
      for (let n = 0; n < 2; n++) socket.emit(kind)
      expect(socket.closedWith).toBe(4429)
    }
  })

  it('answers a ping only while little waits to be sent', () => {
    const socket = open()
    socket.emit('ping')
    socket.bufferedAmount = 20_000
    socket.emit('ping')
    expect(socket.pongs).toBe(1)
    expect(socket.closedWith).toBeUndefined()
  })

  it('cuts off a client that goes on sending after it was closed', async () => {
    const socket = await openDevice()
    for (let n = 0; n < 500; n++) socket.emit('ping')
    expect([socket.closedWith, socket.pongs, socket.terminated]).toEqual([4429, 199, false])
    for (let n = 0; n < 500; n++) socket.emit('ping')
    expect(socket.terminated).toBe(true)
  })

  it('cuts off a client that does not close its side within five seconds', async () => {
    const socket = await openDevice()
    socket.says({ op: 'unknown' })
    expect(socket.closedWith).toBe(4400)
    await pass(3)
    socket.emit('pong')
    expect(socket.terminated).toBe(false)
    await pass(3)
    expect(socket.terminated).toBe(true)
  })

  it('disconnects a client that reads nothing before its hello', async () => {
    const socket = open()
    socket.bufferedAmount = 300_000
    await pass(1)
    expect([socket.closedWith, socket.terminated]).toEqual([4408, true])
  })

  it('separates acknowledgements of tasks that were written to the connection from others', async () => {
    const socket = await openDevice()
    for (const task of [1, 2]) connections.write(7, task, frame)
    socket.says({ op: 'ack', task_ids: [1, 3] })
    socket.says({ op: 'ack', task_ids: [1, 2] })
    expect(acknowledged).toEqual([
      { written: [1], others: [3] },
      { written: [2], others: [1] },
    ])
  })

  it('counts the connections of an address, and those without a device', async () => {
    const counts = () => [connections.countOf('127.0.0.1'), connections.unidentifiedOf('127.0.0.1')]
    const [stranger, device] = [open(), await openDevice()]
    expect(counts()).toEqual([2, 1])
    device.emit('close')
    expect(counts()).toEqual([1, 1])
    stranger.emit('close')
    expect(counts()).toEqual([0, 0])
  })

  it('refuses a device that connects too often before the lookup, and keeps its connection', async () => {
    const first = await openDevice()
    const sockets: FakeSocket[] = []
    for (let n = 0; n < 30; n++) sockets.push(await openDevice())
    const refused = sockets.filter(({ closedWith }) => closedWith === 4429)
    expect([lookups, refused.length]).toEqual([20, 11])
    expect(first.closedWith).toBe(4409)
    const [current] = sockets.filter(({ closedWith }) => closedWith === undefined)
    expect(connections.write(7, 1, frame)).toBe(true)
    expect(current!.sent).toContain('{}')
    // Only replaced connections were removed.
    expect(disconnected.length).toBe(19)
  })

  it('drains within the given time, and terminates sockets that do not close', async () => {
    const sockets: FakeSocket[] = []
    for (let n = 1; n <= 10; n++) sockets.push(await openDevice(n))
    const drained = connections.drain(1000)
    await pass(0.5)
    const closed = sockets.filter(({ closedWith }) => closedWith === 4503).length
    expect(closed).toBeGreaterThan(3)
    expect(closed).toBeLessThan(8)
    for (const socket of sockets.slice(0, 5)) socket.emit('close')
    await pass(4)
    await drained
    expect(sockets.slice(5).every(({ terminated }) => terminated)).toBe(true)
    expect(connections.count()).toBe(0)
  })
})
