import { type Flock, startFlock } from '../native/flock.ts'
import { randomFrom } from './random.ts'

export type FlockQuestion =
  | { ask: 'start'; url: string; devices: { id: number; pushToken: string }[]; seed: number }
  | { ask: 'gather' }
  | { ask: 'online' }
  | { ask: 'shown' }
/** `shown`: a device's id, and how often it showed which task. */
export type FlockAnswer = {
  online: number
  shown: [device: number, tasks: [task: number, times: number][]][]
}

/** Share of the devices that move, sleep, freeze or lose their connection each second, beside what the drill does. */
const UNREST = 0.01

let flock: Flock | undefined
process.on('message', (question: FlockQuestion) => {
  if (question.ask === 'start') {
    const { url, devices, seed } = question
    flock = startFlock({ url, devices, random: randomFrom(seed), unrest: UNREST, deaths: 0 })
  } else if (question.ask === 'gather') flock?.gather()
  const answer: FlockAnswer = {
    online: flock?.online() ?? 0,
    shown: question.ask === 'shown' ? (flock?.devices ?? []).map(({ id, shown }) => [id, [...shown]]) : [],
  }
  process.send!(answer)
})
process.on('disconnect', () => process.exit())
