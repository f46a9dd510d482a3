import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { sleep } from '@herald/async'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { WebSocket, WebSocketServer } from 'ws'
import { connectDevice, type Device, type DeviceOptions, type DeviceState } from '../src/device.ts'
import { badgeAfter, type DeviceMessage, readFrame } from '../src/device-message.ts'
import { afterClose } from '../src/device-reconnect.ts'

const text: DeviceMessage = { type: 'text', title: 'Hi' }

describe('the badge after a message', () => {
  it.each([
    [3, { badge: '+2' }, 5],
    [3, { badge: '7' }, 7],
    [3, { badge: '0' }, 0],
    [3, {}, 4],
    [3, { badge: '+0' }, 3],
    [3, { badge: 'many' }, 3],
    [3, { type: 'cmd' as const, badge: '9' }, 3],
  ])('%j + %j → %j', (before, message, after) =>
    expect(badgeAfter(before, { ...text, ...message })).toBe(after),
  )
})

describe('after a close', () => {
  const half = () => 0.5
  it.each([
    [4409, 0, { do: 'stop', reason: 'replaced' }],
    [4401, 0, { do: 'stop', reason: 'refused' }],
    [4400, 3, { do: 'stop', reason: 'refused' }],
    [4503, 0, { do: 'reconnect', ms: 500 }],
    [1006, 0, { do: 'reconnect', ms: 650 }],
    [1006, 3, { do: 'reconnect', ms: 5200 }],
    [1006, 50, { do: 'reconnect', ms: 39_000 }],
    [4503, 3, { do: 'reconnect', ms: 5200 }],
    [4429, 0, { do: 'reconnect', ms: 30_000 }],
    [1013, 1, { do: 'reconnect', ms: 1300 }],
  ])('with %i after %i failures: %j', (code, failures, wanted) =>
    expect(afterClose(code, failures, half)).toEqual(wanted),
  )

  it('with 4401 stops, unless the hello was delayed', () => {
    const noHello = 'no hello with a push token was received'
    expect(afterClose(4401, 0, half, noHello)).toEqual({ do: 'reconnect', ms: 650 })
    expect(afterClose(4401, 3, half, noHello)).toEqual({ do: 'reconnect', ms: 5200 })
    for (const reason of ['no device has this push token', 'the push token was replaced', undefined])
      expect(afterClose(4401, 0, half, reason)).toEqual({ do: 'stop', reason: 'refused' })
  })

  it('randomises the delays', () => {
    const waits = [0, 0.25, 0.5, 1].map((random) => afterClose(1006, 4, () => random))
    expect(waits.map((next) => next.do === 'reconnect' && next.ms)).toEqual([4800, 7600, 10_400, 16_000])
  })
})

describe('reading frames', () => {
  it('keeps every digit of ext and ignores unknown frames', () => {
    const push = '{"op":"push","task_id":7,"message":{"type":"text","ext":{"n":9007199254740993}}}'
    expect(readFrame(push)).toMatchObject({
      op: 'push',
      taskId: 7,
      message: { ext: { n: 9007199254740993n } },
      text: push,
    })
    for (const odd of ['', '{', 'null', '[]', '{"op":"later"}', '{"op":"push","task_id":"x","message":{}}'])
      expect(readFrame(odd)).toEqual({ op: 'other' })
  })
})

describe('a device', () => {
  let gateway: FakeGateway
  const devices: Device[] = []
  beforeEach(async () => {
    gateway = await startFakeGateway()
  })
  afterEach(async () => {
    for (const device of devices.splice(0)) device.close()
    await gateway.close()
  })

  function start(options: Partial<DeviceOptions> = {}) {
    const shown: number[] = []
    const states: DeviceState[] = []
    const badges: number[] = []
    const device = connectDevice({
      url: gateway.url,
      pushToken: 'push-token-1',
      WebSocket: WebSocket as never,
      onMessage: ({ taskId }) => shown.push(taskId),
      onState: (state) => states.push(state),
      onBadge: (badge) => badges.push(badge),
      ...options,
    })
    devices.push(device)
    return { device, shown, states, badges }
  }

  it('says hello, shows each message once, counts its badge and acknowledges', async () => {
    const { device, shown, badges } = start()
    const connection = await gateway.next()
    expect(connection.protocol).toBe('herald.v1')
    expect(await connection.hears()).toEqual({ op: 'hello', push_token: 'push-token-1', beats: true })
    connection.welcome()
    connection.push(1, text)
    connection.push(2, { ...text, badge: '5' })
    connection.push(1, text)
    expect(await connection.hears()).toEqual({ op: 'ack', task_ids: [1, 2] })
    expect(shown).toEqual([1, 2])
    expect(badges).toEqual([1, 5])
    expect(device.state()).toBe('online')
    device.setBadge(0)
    connection.push(3, text)
    await connection.hears()
    expect(device.badge()).toBe(1)
  })

  it('acknowledges duplicates again, and recent messages on a new connection', async () => {
    const { shown } = start()
    const first = await gateway.next()
    await first.hears()
    first.welcome()
    first.push(8, text)
    await first.hears()
    first.push(8, text)
    expect(await first.hears()).toEqual({ op: 'ack', task_ids: [8] })
    first.cut()
    const second = await gateway.next()
    await second.hears()
    second.welcome()
    expect(await second.hears()).toEqual({ op: 'ack', task_ids: [8] })
    second.push(8, text)
    await second.hears()
    expect(shown).toEqual([8])
  })

  it('says when its app goes to the background, again on a new connection, and when it returns', async () => {
    const { device } = start()
    const first = await gateway.next()
    await first.hears()
    first.welcome()
    await waitFor(() => device.state() === 'online')
    device.away()
    device.away()
    expect(await first.hears()).toEqual({ op: 'away' })
    first.cut()
    const second = await gateway.next()
    // In the hello, so that nothing is delivered to it, and for older gateways after the welcome.
    const hello = { op: 'hello', push_token: 'push-token-1', beats: true, away: true }
    expect(await second.hears()).toEqual(hello)
    second.welcome()
    expect(await second.hears()).toEqual({ op: 'away' })
    device.here()
    expect(await second.hears()).toEqual({ op: 'here' })
    second.cut()
    const third = await gateway.next()
    await third.hears()
    third.welcome()
    third.push(6, text)
    expect(await third.hears()).toEqual({ op: 'ack', task_ids: [6] })
  })

  it('with a storage, does not show a message again after a restart', async () => {
    const kept = new Map<string, string>()
    const storage = {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
    }
    const before = start({ storage })
    const first = await gateway.next()
    await first.hears()
    first.welcome()
    first.push(4, text)
    await first.hears()
    before.device.close()
    expect([...kept.keys()].join()).not.toContain('push-token-1')
    const after = start({ storage })
    const second = await gateway.next()
    await second.hears()
    second.welcome()
    second.push(4, text)
    expect(await second.hears()).toEqual({ op: 'ack', task_ids: [4] })
    expect([before.shown, after.shown]).toEqual([[4], []])
    expect(after.device.badge()).toBe(1)
  })

  it('reconnects after a shutdown of the gateway or a lost connection', async () => {
    const { states } = start()
    for (const end of [(c: FakeConnection) => c.close(4503), (c: FakeConnection) => c.cut()]) {
      const connection = await gateway.next()
      await connection.hears()
      connection.welcome()
      await waitFor(() => states.at(-1) === 'online')
      end(connection)
      await waitFor(() => states.at(-1) === 'connecting')
    }
    expect(states.filter((state) => state === 'waiting').length).toBe(2)
  })

  it.each([
    [4409, 'replaced'],
    [4401, 'refused'],
  ])('stops after %i with state %s', async (code, state) => {
    const { device } = start()
    const connection = await gateway.next()
    await connection.hears()
    connection.close(code)
    await waitFor(() => device.state() === state)
    await expect(gateway.next(300)).rejects.toThrow()
  })

  it('sends nothing more after close()', async () => {
    const { device, states } = start()
    const connection = await gateway.next()
    await connection.hears()
    connection.welcome()
    await waitFor(() => device.state() === 'online')
    device.close()
    await connection.closed
    expect(states.at(-1)).toBe('closed')
    await expect(gateway.next(300)).rejects.toThrow()
  })

  it('throws when there is no WebSocket', () => {
    const global = globalThis as { WebSocket?: unknown }
    const { WebSocket: own } = global
    global.WebSocket = undefined
    try {
      expect(() => start({ WebSocket: undefined })).toThrow('pass one as options.WebSocket')
    } finally {
      global.WebSocket = own
    }
  })
})

const opened: FakeSocket[] = []

class FakeSocket {
  readyState = 1
  isClosed = false
  onopen = () => {}
  onmessage = (_: { data: string }) => {}
  onclose = (_: { code: number; reason?: string }) => {}
  constructor() {
    opened.push(this)
  }
  sent: string[] = []
  send(text: string) {
    this.sent.push(text)
  }
  close() {
    this.isClosed = true
  }
  gets(frame: object) {
    this.onmessage({ data: JSON.stringify(frame) })
  }
}

function connectFake(options: Partial<DeviceOptions> = {}): Device {
  return connectDevice({
    url: 'ws://gateway/native',
    pushToken: 'push-token-1',
    WebSocket: FakeSocket as never,
    onMessage: () => {},
    ...options,
  })
}

describe('a device whose gateway is gone without a close', () => {
  let device: Device
  beforeEach(() => {
    jest.useFakeTimers()
    device = connectFake()
  })
  afterEach(() => {
    device.close()
    jest.useRealTimers()
    opened.length = 0
  })

  it('reconnects after two and a half heartbeats without a frame', () => {
    const [socket] = opened
    socket!.onopen()
    expect(socket!.sent.map((sent) => JSON.parse(sent))).toEqual([
      { op: 'hello', push_token: 'push-token-1', beats: true },
    ])
    socket!.gets({ op: 'welcome', heartbeat: 20 })
    socket!.gets({ op: 'beat' })
    for (const frame of [{ op: 'beat' }, { op: 'push', task_id: 1, message: text }, { op: 'later' }]) {
      jest.advanceTimersByTime(49_999)
      expect(device.state()).toBe('online')
      socket!.gets(frame)
    }
    jest.advanceTimersByTime(49_999)
    expect([device.state(), socket!.isClosed]).toEqual(['online', false])
    jest.advanceTimersByTime(1)
    expect([device.state(), socket!.isClosed]).toEqual(['waiting', true])
    jest.advanceTimersByTime(1000)
    expect([device.state(), opened.length]).toEqual(['connecting', 2])
    // The beats of the last connection say nothing about this gateway.
    opened[1]!.gets({ op: 'welcome', heartbeat: 20 })
    jest.advanceTimersByTime(3_600_000)
    expect(device.state()).toBe('online')
  })

  it('keeps the connection of an older gateway, which sends no beats', () => {
    const [socket] = opened
    socket!.gets({ op: 'welcome', heartbeat: 30 })
    socket!.gets({ op: 'push', task_id: 1, message: text })
    jest.advanceTimersByTime(3_600_000)
    expect([device.state(), socket!.isClosed]).toEqual(['online', false])
  })

  it('leaves no timer after close(), even if a frame still arrives', () => {
    const [socket] = opened
    socket!.gets({ op: 'welcome', heartbeat: 30 })
    socket!.gets({ op: 'beat' })
    device.close()
    socket!.gets({ op: 'beat' })
    expect(jest.getTimerCount()).toBe(0)
  })
})

describe('a device and what it gets and says', () => {
  let device: Device
  let shown: number[]
  let badges: number[]
  let socket: FakeSocket
  beforeEach(() => {
    jest.useFakeTimers()
    shown = []
    badges = []
    device = connectFake({
      onMessage: ({ taskId }) => shown.push(taskId),
      onBadge: (badge) => badges.push(badge),
    })
    socket = opened[0]!
  })
  afterEach(() => {
    device.close()
    jest.useRealTimers()
    opened.length = 0
  })
  const welcome = { op: 'welcome', heartbeat: 20 }
  const hello = { op: 'hello', push_token: 'push-token-1', beats: true }
  const push = (taskId: number, message: DeviceMessage) =>
    socket.gets({ op: 'push', task_id: taskId, message })
  const said = ({ sent }: FakeSocket) => sent.map((frame) => JSON.parse(frame))

  it('acknowledges and does not show a message that its recall or replacement has overtaken', () => {
    socket.gets(welcome)
    push(11, { type: 'cmd', recalls: 1 })
    push(12, { ...text, replaces: 2 })
    for (const taskId of [1, 2]) push(taskId, text)
    jest.advanceTimersByTime(1000)
    expect(said(socket)).toEqual([{ op: 'ack', task_ids: [11, 12, 1, 2] }])
    expect([shown, badges]).toEqual([[11, 12], [1]])
  })

  it('shows a message when it arrives, whatever the clock of the device says about its show window', () => {
    socket.gets(welcome)
    const second = Math.floor(Date.now() / 1000)
    push(1, { ...text, show_begin_time: second + 3600 })
    push(2, { ...text, show_end_time: second - 3600 })
    expect(shown).toEqual([1, 2])
  })

  it('says in its hello that its app is away, and after the welcome that it has come back', () => {
    device.away()
    socket.onopen()
    device.here()
    expect(said(socket)).toEqual([{ ...hello, away: true }])
    socket.gets(welcome)
    expect(said(socket).slice(1)).toEqual([{ op: 'here' }])
  })

  it('reconnects at once when its app comes back while it waits', () => {
    socket.gets(welcome)
    device.away()
    socket.onclose({ code: 4429 })
    device.away()
    expect([device.state(), opened.length]).toEqual(['waiting', 1])
    device.here()
    expect([device.state(), opened.length]).toEqual(['connecting', 2])
    opened[1]!.onopen()
    opened[1]!.gets(welcome)
    expect(said(opened[1]!)).toEqual([hello])
    // The attempt that was planned is not made.
    jest.advanceTimersByTime(3_600_000)
    expect([device.state(), opened.length]).toEqual(['online', 2])
  })

  it('does not reconnect early for an app that was not away', () => {
    socket.gets(welcome)
    socket.onclose({ code: 4429 })
    device.here()
    expect([device.state(), opened.length]).toEqual(['waiting', 1])
  })
})

describe('a device and the callbacks of its app', () => {
  let device: Device
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => {
    device.close()
    jest.restoreAllMocks()
    jest.useRealTimers()
    opened.length = 0
  })
  const welcome = { op: 'welcome', heartbeat: 20 }

  it.each(['waiting', 'connecting'])('stays closed after close() in onState with %s', (when) => {
    const states: DeviceState[] = []
    device = connectFake({
      onState(state) {
        states.push(state)
        if (state === when) device.close()
      },
    })
    opened[0]!.gets(welcome)
    opened[0]!.onclose({ code: 1006 })
    jest.advanceTimersByTime(3_600_000)
    expect(states.slice(-2)).toEqual([when, 'closed'])
    expect([device.state(), opened.length, jest.getTimerCount()]).toEqual(['closed', 1, 0])
  })

  it('stays closed if frames arrive after close()', () => {
    const shown: number[] = []
    const states: DeviceState[] = []
    device = connectFake({
      onMessage: ({ taskId }) => shown.push(taskId),
      onState: (state) => states.push(state),
    })
    device.close()
    opened[0]!.gets(welcome)
    opened[0]!.gets({ op: 'push', task_id: 1, message: text })
    opened[0]!.onclose({ code: 1000 })
    jest.advanceTimersByTime(3_600_000)
    expect([states, shown]).toEqual([['closed'], []])
    expect([opened.length, jest.getTimerCount()]).toEqual([1, 0])
  })

  it('acknowledges the message in whose callback it is closed', () => {
    device = connectFake({ onMessage: () => device.close() })
    opened[0]!.gets(welcome)
    opened[0]!.gets({ op: 'push', task_id: 1, message: text })
    expect(opened[0]!.sent).toEqual(['{"op":"ack","task_ids":[1]}'])
    expect([device.state(), jest.getTimerCount()]).toEqual(['closed', 0])
  })

  /** The app's errors: calling an entry throws one. */
  function catchReports(): (() => void)[] {
    const reports: (() => void)[] = []
    jest.spyOn(globalThis, 'queueMicrotask').mockImplementation((report) => void reports.push(report))
    return reports
  }
  const fail = () => {
    throw new Error('bug of the app')
  }

  it('reconnects if onState throws, and reports the error', () => {
    const reports = catchReports()
    let calls = 0
    device = connectFake({
      onState(state) {
        if (state === 'waiting' && calls++ === 0) fail()
      },
    })
    opened[0]!.gets(welcome)
    opened[0]!.onclose({ code: 1006 })
    expect([device.state(), calls]).toEqual(['waiting', 1])
    jest.advanceTimersByTime(1000)
    expect([device.state(), opened.length]).toEqual(['connecting', 2])
    expect(reports.length).toBe(1)
    expect(reports[0]).toThrow('bug of the app')
  })

  it('acknowledges and limits the silence if onBadge and onMessage throw, and reports both errors', () => {
    const reports = catchReports()
    device = connectFake({ onBadge: fail, onMessage: fail })
    const [socket] = opened
    socket!.gets(welcome)
    socket!.gets({ op: 'beat' })
    jest.advanceTimersByTime(40_000)
    socket!.gets({ op: 'push', task_id: 1, message: text })
    expect(reports.length).toBe(2)
    for (const report of reports) expect(report).toThrow('bug of the app')
    jest.advanceTimersByTime(49_999)
    expect(socket!.sent).toEqual(['{"op":"ack","task_ids":[1]}'])
    expect(device.state()).toBe('online')
    jest.advanceTimersByTime(1)
    expect(device.state()).toBe('waiting')
  })

  it('reconnects after a close because of a delayed hello, but not with an unknown token', () => {
    device = connectFake()
    opened[0]!.onclose({ code: 4401, reason: 'no hello with a push token was received' })
    expect(device.state()).toBe('waiting')
    jest.advanceTimersByTime(1000)
    expect([device.state(), opened.length]).toEqual(['connecting', 2])
    opened[1]!.onclose({ code: 4401, reason: 'no device has this push token' })
    expect([device.state(), jest.getTimerCount()]).toEqual(['refused', 0])
  })
})

async function waitFor(condition: () => boolean): Promise<void> {
  for (const end = Date.now() + 60_000; !condition(); ) {
    if (Date.now() > end) throw new Error(`waited in vain for ${condition}`)
    await sleep(5)
  }
}

type FakeGateway = Awaited<ReturnType<typeof startFakeGateway>>
type FakeConnection = ReturnType<typeof holdConnection>

/** A gateway controlled by the test. */
async function startFakeGateway() {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  const waiting: FakeConnection[] = []
  server.on('connection', (socket) => waiting.push(holdConnection(socket)))
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/native`,
    async next(ms = 60_000): Promise<FakeConnection> {
      for (const end = Date.now() + ms; ; ) {
        const connection = waiting.shift()
        if (connection) return connection
        if (Date.now() > end) throw new Error('no connection came')
        await sleep(5)
      }
    },
    close: () =>
      new Promise<void>((resolve) => {
        for (const client of server.clients) client.terminate()
        server.close(() => resolve())
      }),
  }
}

function holdConnection(socket: WebSocket) {
  const heard: unknown[] = []
  socket.on('message', (data) => heard.push(JSON.parse(String(data))))
  return {
    protocol: socket.protocol,
    closed: once(socket, 'close'),
    async hears(): Promise<unknown> {
      await waitFor(() => heard.length > 0)
      return heard.shift()
    },
    welcome: () => socket.send('{"op":"welcome","heartbeat":30}'),
    push: (taskId: number, message: DeviceMessage) =>
      socket.send(JSON.stringify({ op: 'push', task_id: taskId, message })),
    close: (code: number) => socket.close(code),
    cut: () => socket.terminate(),
  }
}
