import { connectDevice, type Device, type DeviceState, type Received } from '@herald/client/device'
import { useEffect, useRef, useState } from 'react'
import { registerDevice } from '../../api/calls.ts'

/** A message and when it came, in Unix seconds. */
export type Arrived = Received & { at: number }

const MOST_SHOWN = 50
const keyOf = (appId: string) => `herald.device.${appId}`

/** The same browser is the same device over reloads. */
function keptGuid(appId: string): string {
  return (
    localStorage.getItem(keyOf(appId)) ??
    `browser-${crypto.getRandomValues(new Uint32Array(1))[0]!.toString(36)}`
  )
}

/** A device on the native channel for as long as the page is open. */
export function useNativeDevice(appId: string) {
  const connection = useRef<Device>(undefined)
  const [guid, setGuid] = useState(() => keptGuid(appId))
  const [state, setState] = useState<DeviceState>('closed')
  const [badge, setBadge] = useState(0)
  const [pushToken, setPushToken] = useState<string>()
  const [messages, setMessages] = useState<Arrived[]>([])
  const [problem, setProblem] = useState<unknown>()
  const [isRegistering, setRegistering] = useState(false)
  const disconnect = () => connection.current?.close()
  useEffect(() => () => connection.current?.close(), [])

  async function connect(): Promise<void> {
    setProblem(undefined)
    setRegistering(true)
    try {
      const { push_token } = await registerDevice(appId, guid.trim())
      localStorage.setItem(keyOf(appId), guid.trim())
      connection.current?.close()
      setPushToken(push_token)
      setState('connecting')
      const device = connectDevice({
        url: `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/native`,
        pushToken: push_token,
        storage: localStorage,
        onState: setState,
        onBadge: setBadge,
        onMessage: (received) =>
          setMessages((before) => [{ ...received, at: Date.now() / 1000 }, ...before].slice(0, MOST_SHOWN)),
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
