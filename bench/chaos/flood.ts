import type { Caller } from './caller.ts'
import type { Accepted } from './load.ts'
import { aliasOf } from './population.ts'
import { bodyOf, type NotifyRequest } from './requests.ts'

/** Calls in flight at a time: more than the API takes at once, so the next push is always waiting to be accepted. */
const IN_FLIGHT = 128

export type Flood = {
  /** Sends pushes to one device each, as fast as the API accepts them, until `isOver` returns true or `max` were sent. */
  run(isOver: () => boolean, max: number): Promise<void>
}

/** An application that does not wait: it calls as fast as the API responds, and repeats what was refused. */
export function createFlood(options: {
  caller: Pick<Caller, 'call'>
  devices: readonly number[]
  accepted: Accepted[]
  onBroken(sentence: string): void
}): Flood {
  const { caller, devices, accepted, onBroken } = options
  let count = 0

  async function send(): Promise<void> {
    const request = singlePush(`flood ${count}`, devices[count % devices.length]!)
    count++
    const { task_id } = await caller.call('/push/notify', bodyOf(request))
    accepted.push({ task: Number(task_id), request })
  }

  return {
    async run(isOver, max) {
      const last = count + max
      const sending = Array.from({ length: IN_FLIGHT }, async () => {
        while (!isOver() && count < last) await send()
      })
      await Promise.all(sending).catch((error: Error) => onBroken(error.message))
    },
  }
}

export function singlePush(requestId: string, n: number): NotifyRequest {
  return {
    requestId,
    audience: { alias: [aliasOf(n)] },
    devices: [n],
    strategy: 'ospush_only',
    copies: 1,
  }
}
