import { connectDevice, type Device, type DeviceStorage } from '@herald/client/device'
import { WebSocket } from 'ws'

/** One simulated device and its own log: what it showed, and how often. */
export type FlockDevice = {
  id: number
  pushToken: string
  shown: Map<number, number>
  dead: boolean
}

export type Flock = {
  devices: FlockDevice[]
  /** Everybody who lives connects and stays. */
  gather(): void
  online(): number
  stop(): void
}

const EVERY_MS = 50

/**
 * Devices on the client library that live at random: they move, sleep, freeze without closing, lose their connection and
 * die. What each of them saw is kept apart from Herald.
 */
export function startFlock(options: {
  url: string
  devices: { id: number; pushToken: string }[]
  random: () => number
  /** Share of the devices that something happens to each second. */
  unrest: number
  /** Share of the devices that die on the way. */
  deaths: number
}): Flock {
  const { random } = options
  const members = options.devices.map((device) => createMember(device, options.url))
  for (const member of members) member.wake()

  let mortal = Math.floor(members.length * options.deaths)
  let owed = 0
  const timer = setInterval(() => {
    owed += (members.length * options.unrest * EVERY_MS) / 1000
    for (; owed >= 1; owed--) {
      const member = members[Math.floor(random() * members.length)]!
      const fate = random()
      if (member.device.dead || member.isAway()) continue
      if (fate < 0.35) member.move()
      else if (fate < 0.65) member.sleep(200 + random() * 6000)
      else if (fate < 0.85) member.lose()
      else if (fate < 0.95) member.freeze(1000 + random() * 5000)
      else if (mortal > 0) {
        mortal--
        member.die()
      }
    }
  }, EVERY_MS)

  return {
    devices: members.map(({ device }) => device),
    online: () => members.filter((member) => member.isOnline()).length,
    gather() {
      clearInterval(timer)
      for (const member of members) if (!member.device.dead) member.wake()
    },
    stop() {
      clearInterval(timer)
      for (const member of members) member.end()
    },
  }
}

function createMember({ id, pushToken }: { id: number; pushToken: string }, url: string) {
  const device: FlockDevice = { id, pushToken, shown: new Map(), dead: false }
  const kept = new Map<string, string>()
  const storage: DeviceStorage = {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
  }
  let connected: Device | undefined
  let socket: WebSocket | undefined
  let timer: NodeJS.Timeout | undefined

  class Held extends WebSocket {
    constructor(address: string, protocols: string[]) {
      super(address, protocols, { perMessageDeflate: false })
      socket = this
    }
  }

  function wake(): void {
    clearTimeout(timer)
    timer = undefined
    if (socket?.isPaused) socket.resume()
    // A device that was replaced by its own former connection comes back, as an app does when it is opened.
    if (connected && !['replaced', 'refused', 'closed'].includes(connected.state())) return
    connected = connectDevice({
      url,
      pushToken,
      storage,
      WebSocket: Held as never,
      onMessage: ({ taskId }) => device.shown.set(taskId, (device.shown.get(taskId) ?? 0) + 1),
    })
  }

  function leave(): void {
    connected?.close()
    connected = undefined
    socket?.terminate()
  }

  return {
    device,
    wake,
    isAway: () => timer !== undefined,
    isOnline: () => connected?.state() === 'online',
    move() {
      leave()
      wake()
    },
    sleep(ms: number) {
      leave()
      timer = setTimeout(wake, ms)
    },
    /** The network drops it; the library finds its way back. */
    lose: () => socket?.terminate(),
    /** It reads nothing for a while, as a suspended app. */
    freeze(ms: number) {
      if (socket?.readyState !== WebSocket.OPEN) return
      socket.pause()
      timer = setTimeout(wake, ms)
    },
    die() {
      device.dead = true
      leave()
    },
    end() {
      clearTimeout(timer)
      leave()
    },
  }
}
