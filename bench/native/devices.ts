import { connectDevice, type Device, type DeviceStorage } from '@herald/client/device'
import { WebSocket } from 'ws'

/** One simulated device; `shown` is how often it showed each task. */
export type SimulatedDevice = {
  id: number
  pushToken: string
  shown: Map<number, number>
  dead: boolean
}

export type SimulatedDevices = {
  devices: SimulatedDevice[]
  /** Connects all devices that are not dead and keeps them connected. */
  connectAll(): void
  /** From now on the devices change their state at random. */
  startUnrest(): void
  online(): number
  stop(): void
}

const EVERY_MS = 50

/**
 * Starts devices on the client library that behave at random: they move to another network, go offline, freeze without
 * closing, lose their connection and die. What each of them showed is recorded independently of Herald.
 */
export function startDevices(options: {
  url: string
  devices: { id: number; pushToken: string }[]
  random: () => number
  /** Share of the devices that change their state per second. */
  unrest: number
  /** Share of the devices that may die. */
  deaths: number
}): SimulatedDevices {
  const { random } = options
  const all = options.devices.map((device) => createDevice(device, options.url))
  for (const one of all) one.connect()

  let mayDie = Math.floor(all.length * options.deaths)
  let changes = 0
  let timer: NodeJS.Timeout | undefined
  const change = () => {
    changes += (all.length * options.unrest * EVERY_MS) / 1000
    for (; changes >= 1; changes--) {
      const one = all[Math.floor(random() * all.length)]!
      const kind = random()
      if (one.device.dead || one.isAway()) continue
      if (kind < 0.35) one.move()
      else if (kind < 0.65) one.goOffline(200 + random() * 6000)
      else if (kind < 0.85) one.loseConnection()
      else if (kind < 0.95) one.freeze(1000 + random() * 5000)
      else if (mayDie > 0) {
        mayDie--
        one.die()
      }
    }
  }

  return {
    devices: all.map(({ device }) => device),
    startUnrest() {
      timer ??= setInterval(change, EVERY_MS)
    },
    online: () => all.filter((one) => one.isOnline()).length,
    connectAll() {
      clearInterval(timer)
      for (const one of all) if (!one.device.dead) one.connect()
    },
    stop() {
      clearInterval(timer)
      for (const one of all) one.stop()
    },
  }
}

function createDevice({ id, pushToken }: { id: number; pushToken: string }, url: string) {
  const device: SimulatedDevice = { id, pushToken, shown: new Map(), dead: false }
  const stored = new Map<string, string>()
  const storage: DeviceStorage = {
    getItem: (key) => stored.get(key) ?? null,
    setItem: (key, value) => void stored.set(key, value),
  }
  let client: Device | undefined
  let socket: WebSocket | undefined
  let timer: NodeJS.Timeout | undefined

  class ObservedSocket extends WebSocket {
    constructor(address: string, protocols: string[]) {
      super(address, protocols, { perMessageDeflate: false })
      socket = this
    }
  }

  function connect(): void {
    clearTimeout(timer)
    timer = undefined
    if (socket?.isPaused) socket.resume()
    // A device that was replaced by its own previous connection reconnects, like an app that is opened again.
    if (client && !['replaced', 'refused', 'closed'].includes(client.state())) return
    client = connectDevice({
      url,
      pushToken,
      storage,
      WebSocket: ObservedSocket as never,
      onMessage: ({ taskId }) => device.shown.set(taskId, (device.shown.get(taskId) ?? 0) + 1),
    })
  }

  function disconnect(): void {
    client?.close()
    client = undefined
    socket?.terminate()
  }

  return {
    device,
    connect,
    isAway: () => timer !== undefined,
    isOnline: () => client?.state() === 'online',
    move() {
      disconnect()
      connect()
    },
    goOffline(ms: number) {
      disconnect()
      timer = setTimeout(connect, ms)
    },
    /** The client library reconnects by itself. */
    loseConnection: () => socket?.terminate(),
    /** Reads nothing for `ms`, like a suspended app. */
    freeze(ms: number) {
      if (socket?.readyState !== WebSocket.OPEN) return
      socket.pause()
      timer = setTimeout(connect, ms)
    },
    die() {
      device.dead = true
      disconnect()
    },
    stop() {
      clearTimeout(timer)
      disconnect()
    },
  }
}
