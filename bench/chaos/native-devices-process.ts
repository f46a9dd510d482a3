import { type SimulatedDevices, startDevices } from '../native/devices.ts'
import { randomFrom } from './random.ts'

export type DevicesRequest =
  | { ask: 'start'; url: string; devices: { id: number; pushToken: string }[]; seed: number }
  | { ask: 'start-unrest' }
  | { ask: 'connect-all' }
  | { ask: 'online' }
  | { ask: 'shown' }
/** `shown`: a device's id, and how often it showed each task. */
export type DevicesResponse = {
  online: number
  shown: [device: number, tasks: [task: number, times: number][]][]
}

/** Share of the devices that move, go offline, freeze or lose their connection per second, in addition to the faults. */
const UNREST = 0.01

let simulated: SimulatedDevices | undefined
process.on('message', (request: DevicesRequest) => {
  if (request.ask === 'start') {
    const { url, devices, seed } = request
    simulated = startDevices({ url, devices, random: randomFrom(seed), unrest: UNREST, deaths: 0 })
  } else if (request.ask === 'start-unrest') simulated?.startUnrest()
  else if (request.ask === 'connect-all') simulated?.connectAll()
  const response: DevicesResponse = {
    online: simulated?.online() ?? 0,
    shown: request.ask === 'shown' ? (simulated?.devices ?? []).map(({ id, shown }) => [id, [...shown]]) : [],
  }
  process.send!(response)
})
process.on('disconnect', () => process.exit())
process.send!('ready')
