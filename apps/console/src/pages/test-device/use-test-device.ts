import { connectDevice, type Device, type DeviceState, type Received } from '@herald/client/device'
import { useEffect, useRef, useState } from 'react'
import { openTestDevice } from '../../api/calls.ts'

/** `at`: time of arrival in Unix seconds. */
export type ReceivedMessage = Received & { at: number }

const MAX_MESSAGES = 50
const keyOf = (appId: string) => `herald.device.${appId}`

/** The id is stored: after a reload the browser is still the same device. */
function storedGuid(appId: string): string {
  return (
    localStorage.getItem(keyOf(appId)) ??
    `browser-${crypto.getRandomValues(new Uint32Array(1))[0]!.toString(36)}`
  )
}

/** A device on the native channel while the page is open. */
export function useTestDevice(appId: string) {
  const connection = useRef<Device>(undefined)
  const [guid, setGuid] = useState(() => storedGuid(appId))
  const [state, setState] = useState<DeviceState>('closed')
  const [badge, setBadge] = useState(0)
  const [pushToken, setPushToken] = useState<string>()
  const [messages, setMessages] = useState<ReceivedMessage[]>([])
  const [problem, setProblem] = useState<unknown>()
  const [isRegistering, setRegistering] = useState(false)
  const disconnect = () => connection.current?.close()
  useEffect(() => () => connection.current?.close(), [])

  async function connect(): Promise<void> {
    setProblem(undefined)
    setRegistering(true)
    try {
      const token = await openTestDevice(appId, guid.trim())
      localStorage.setItem(keyOf(appId), guid.trim())
      connection.current?.close()
      setPushToken(token)
      setState('connecting')
      const device = connectDevice({
        url: `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/native`,
        pushToken: token,
        storage: localStorage,
        onState: setState,
        onBadge: setBadge,
        onMessage: (received) =>
          setMessages((before) => [{ ...received, at: Date.now() / 1000 }, ...before].slice(0, MAX_MESSAGES)),
      })
      connection.current = device
      setBadge(device.badge())
    } catch (error) {
      setProblem(error)
    } finally {
      setRegistering(false)
    }
  }

  return { guid, setGuid, state, badge, pushToken, messages, problem, isRegistering, connect, disconnect }
}
