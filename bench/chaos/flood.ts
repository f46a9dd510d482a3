import { sleep } from '@herald/async'
import type { Caller } from './caller.ts'
import type { Accepted } from './load.ts'
import { aliasOf } from './population.ts'
import { bodyOf, type NotifyRequest } from './requests.ts'

/** How long, and with how many calls in flight, the rate that the API accepts is measured. */
const MEASURE_MS = 1500
const MEASURE_IN_FLIGHT = 64
/** How many times that rate is sent then. */
const FACTOR = 2
/** Calls without a response, so that the flood does not fill the memory of the drill. */
export const MAX_IN_FLIGHT = 2000
const TICK_MS = 20
/** Connections to each API. */
export const FLOOD_CONNECTIONS = 500

export type Flood = {
  /** Sends pushes to one device each until `isOver` returns true or `max` were sent, at about twice the rate that the API accepts. */
  run(isOver: () => boolean, max: number): Promise<void>
  /** Pushes sent so far, those that were not accepted yet included. */
  sent(): number
}

/** An application that does not wait for responses, and repeats what was refused. */
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

  /** Returns pushes per second. */
  async function measureRate(isOver: () => boolean): Promise<number> {
    const began = performance.now()
    const before = accepted.length
    await Promise.all(
      Array.from({ length: MEASURE_IN_FLIGHT }, async () => {
        do await send()
        while (!isOver() && performance.now() - began < MEASURE_MS)
      }),
    )
    return ((accepted.length - before) * 1000) / (performance.now() - began)
  }

  async function run(isOver: () => boolean, max: number): Promise<void> {
    const last = count + max
    const perSecond = FACTOR * (await measureRate(isOver))
    const isDone = () => isOver() || count >= last
    await sendAtRate(perSecond, () => send().catch((error: Error) => onBroken(error.message)), isDone)
  }

  return {
    run: (isOver, max) => run(isOver, max).catch((error: Error) => onBroken(error.message)),
    sent: () => count,
  }
}

/** Calls `send` at this rate without waiting for its end; resolves when all calls have ended. */
export async function sendAtRate(
  perSecond: number,
  send: () => Promise<void>,
  isOver: () => boolean,
): Promise<void> {
  const inFlight = new Set<Promise<void>>()
  const began = performance.now()
  for (let count = 0; !isOver(); await sleep(TICK_MS)) {
    const due = (perSecond * (performance.now() - began)) / 1000
    for (; count < due && inFlight.size < MAX_IN_FLIGHT && !isOver(); count++) {
      const sent = send()
      inFlight.add(sent)
      sent.finally(() => inFlight.delete(sent))
    }
  }
  await Promise.all(inFlight)
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
