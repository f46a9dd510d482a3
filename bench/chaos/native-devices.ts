import { startChild } from '../child.ts'
import type { DevicesRequest, DevicesResponse } from './native-devices-process.ts'

export type NativeDevices = {
  online(): Promise<number>
  /** From now on the devices change their state at random. */
  startUnrest(): Promise<void>
  /** Connects all devices and keeps them connected. */
  connectAll(): Promise<void>
  /** How often each device showed each task, by device and task. */
  shown(): Promise<Map<number, Map<number, number>>>
  stop(): Promise<void>
}

/** Runs the devices of the native channel in their own process. */
export async function startNativeDevices(
  start: Omit<DevicesRequest & { ask: 'start' }, 'ask'>,
): Promise<NativeDevices> {
  const file = new URL('./native-devices-process.ts', import.meta.url)
  const { ask, stop } = await startChild<DevicesRequest, DevicesResponse>(file)
  await ask({ ask: 'start', ...start })
  return {
    online: async () => (await ask({ ask: 'online' })).online,
    startUnrest: async () => void (await ask({ ask: 'start-unrest' })),
    connectAll: async () => void (await ask({ ask: 'connect-all' })),
    shown: async () =>
      new Map((await ask({ ask: 'shown' })).shown.map(([device, tasks]) => [device, new Map(tasks)])),
    stop,
  }
}
