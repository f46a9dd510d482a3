import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '@herald/db'
import type { Caller } from './caller.ts'
import { bodyOf, nextOrder, type Order } from './orders.ts'
import type { Population } from './population.ts'
import { between, type Random } from './random.ts'

/** An order that was answered with 200, under the id of the answer. */
export type Accepted = { task: number; order: Order }

export type Load = {
  /** Everything accepted so far. */
  accepted: readonly Accepted[]
  /** Places no more orders; resolves when every order placed is answered and followed up. */
  end(): Promise<void>
}

/** Devices of tasks under way; more are not asked for, so that the drill ends soon after its faults. */
const MOST_OPEN_DEVICES = 30_000
const MOST_UNANSWERED = 24
/** Seconds of the rate that an outage may save up for later. */
const SAVED_SECONDS = 8

/** Mixed load at about `rate` devices a second, closed by what is still under way. */
export function startLoad(options: {
  caller: Caller
  db: Database
  population: Population
  random: Random
  rate: number
  onBroken(sentence: string): void
}): Load {
  const { caller, db, population, random, rate, onBroken } = options
  const accepted: Accepted[] = []
  const open = new Map<number, number>()
  const unanswered = new Set<Promise<void>>()
  let openDevices = 0
  let over = false

  async function place(order: Order): Promise<void> {
    const answers = await Promise.all(
      Array.from({ length: order.copies }, () => caller.call('/push/notify', bodyOf(order))),
    )
    const ids = new Set(answers.map(({ task_id }) => Number(task_id)))
    const [task = Number.NaN] = ids
    if (ids.size !== 1) onBroken(`copies of ${order.requestId} got the ids ${[...ids].join(', ')}`)
    accepted.push({ task, order })
    open.set(task, order.devices.length)
    openDevices += order.devices.length
    if (order.turn === 'pause') {
      await sleep(between(random, 100, 600))
      await control('pause', task)
      await sleep(between(random, 500, 2500))
      await control('resume', task)
    } else if (order.turn === 'cancel') {
      await sleep(between(random, 50, 800))
      await control('cancel', task)
    }
  }

  const control = (verb: string, task: number) => caller.call(`/push/task/${verb}`, { task_id: task })

  const placing = (async () => {
    let credit = rate
    let last = performance.now()
    for (let n = 0; !over; n++) {
      const order = nextOrder(random, population, n)
      for (;;) {
        const now = performance.now()
        credit = Math.min(credit + ((now - last) / 1000) * rate, SAVED_SECONDS * rate)
        last = now
        if (over) return
        if (credit > 0 && openDevices < MOST_OPEN_DEVICES && unanswered.size < MOST_UNANSWERED) break
        await sleep(10)
      }
      credit -= order.devices.length
      const placed = place(order).catch((error: Error) => onBroken(error.message))
      unanswered.add(placed)
      placed.finally(() => unanswered.delete(placed))
    }
  })()

  const watching = (async () => {
    while (!over) {
      await sleep(500)
      try {
        const { rows } = await db.pool.query<{ id: number }>(
          `SELECT id FROM task WHERE id = ANY($1::bigint[]) AND state IN ('finished', 'cancelled')`,
          [[...open.keys()]],
        )
        for (const { id } of rows) {
          openDevices -= open.get(id) ?? 0
          open.delete(id)
        }
      } catch {
        // Postgres is being restarted.
      }
    }
  })()

  return {
    accepted,
    async end() {
      over = true
      await Promise.all([placing, watching])
      await Promise.all(unanswered)
    },
  }
}
