import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { FlockAnswer, FlockQuestion } from './flock-process.ts'

export type DrillFlock = {
  online(): Promise<number>
  /** Everybody connects and stays. */
  gather(): Promise<void>
  /** What each device showed, and how often, by device and task. */
  shown(): Promise<Map<number, Map<number, number>>>
  stop(): Promise<void>
}

/** Devices on the native channel, in a process of their own. */
export async function startDrillFlock(
  start: Omit<FlockQuestion & { ask: 'start' }, 'ask'>,
): Promise<DrillFlock> {
  const child = fork(fileURLToPath(new URL('./flock-process.ts', import.meta.url)))
  let inTurn: Promise<unknown> = Promise.resolve()
  const ask = (question: FlockQuestion): Promise<FlockAnswer> => {
    const answer = inTurn.then(async () => {
      child.send(question)
      const [given] = (await once(child, 'message')) as [FlockAnswer]
      return given
    })
    inTurn = answer
    return answer
  }
  await ask({ ask: 'start', ...start })
  return {
    online: async () => (await ask({ ask: 'online' })).online,
    gather: async () => void (await ask({ ask: 'gather' })),
    shown: async () =>
      new Map((await ask({ ask: 'shown' })).shown.map(([device, tasks]) => [device, new Map(tasks)])),
    async stop() {
      const gone = once(child, 'exit')
      child.disconnect()
      await gone
    },
  }
}
