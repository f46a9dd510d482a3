import { connectDevice, type Device, type DeviceState, type Received } from '@herald/client/device'
import { openTestDevice } from '../../api/calls.ts'
import { onSignOut } from '../../session/sign-out-tasks.ts'
import { storedTestDevice, storeTestDevice } from '../../session/test-device-id.ts'

/** `at`: time of arrival in Unix seconds. */
export type ReceivedMessage = Received & { at: number }

export type TestDevice = {
  /** The id is stored: after a reload the browser is still the same device. */
  guid: string
  state: DeviceState
  badge: number
  pushToken: string | undefined
  messages: readonly ReceivedMessage[]
  /** The device is one of somebody else, so it was not connected. */
  isTaken: boolean
  problem: unknown
  isRegistering: boolean
}

const MAX_MESSAGES = 50

/** One device per application. It lives as long as the tab, so that a push can be written on another page while it is connected. */
class TestDeviceStore {
  readonly #appId: string
  readonly #listeners = new Set<() => void>()
  #connection: Device | undefined
  #device: TestDevice

  constructor(appId: string) {
    this.#appId = appId
    this.#device = {
      guid:
        storedTestDevice(appId) ?? `browser-${crypto.getRandomValues(new Uint32Array(1))[0]!.toString(36)}`,
      state: 'closed',
      badge: 0,
      pushToken: undefined,
      messages: [],
      isTaken: false,
      problem: undefined,
      isRegistering: false,
    }
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readonly current = (): TestDevice => this.#device

  setGuid(guid: string): void {
    this.#change({ guid, isTaken: false })
  }

  disconnect(): void {
    this.#connection?.close()
  }

  async connect(): Promise<void> {
    const guid = this.#device.guid.trim()
    this.#change({ problem: undefined, isTaken: false, isRegistering: true })
    try {
      const token = await openTestDevice(this.#appId, guid, guid === storedTestDevice(this.#appId))
      if (token === undefined) {
        this.#change({ isTaken: true })
        return
      }
      storeTestDevice(this.#appId, guid)
      this.#connection?.close()
      this.#change({ pushToken: token, state: 'connecting' })
      const connection = connectDevice({
        url: `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/native`,
        pushToken: token,
        storage: localStorage,
        onState: (state) => this.#change({ state }),
        onBadge: (badge) => this.#change({ badge }),
        onMessage: (received) =>
          this.#change({
            messages: [{ ...received, at: Date.now() / 1000 }, ...this.#device.messages].slice(
              0,
              MAX_MESSAGES,
            ),
          }),
      })
      this.#connection = connection
      this.#change({ badge: connection.badge() })
    } catch (problem) {
      this.#change({ problem })
    } finally {
      this.#change({ isRegistering: false })
    }
  }

  #change(fields: Partial<TestDevice>): void {
    this.#device = { ...this.#device, ...fields }
    for (const notify of this.#listeners) notify()
  }
}

const stores = new Map<string, TestDeviceStore>()

export function testDeviceOf(appId: string): TestDeviceStore {
  const store = stores.get(appId) ?? new TestDeviceStore(appId)
  stores.set(appId, store)
  return store
}

onSignOut(() => {
  for (const store of stores.values()) store.disconnect()
  stores.clear()
})
