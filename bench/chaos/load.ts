import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '@herald/db/store'
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

/** Devices that wait; more are not asked for, so that the drill ends soon after its faults. */
const MOST_PENDING = 40_000
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
  /** Devices that still wait, by task. */
  const pending = new Map<number, number>()
  const unanswered = new Set<Promise<void>>()
  let over = false

  async function place(order: Order): Promise<void> {
    const answers = await Promise.all(
      Array.from({ length: order.copies }, () => caller.call('/push/notify', bodyOf(order))),
    )
    const ids = new Set(answers.map(({ task_id }) => Number(task_id)))
    const [task = Number.NaN] = ids
    if (ids.size !== 1) onBroken(`copies of ${order.requestId} got the ids ${[...ids].join(', ')}`)
    accepted.push({ task, order })
    pending.set(task, order.devices.length)
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
        if (credit > 0 && sumOf(pending) < MOST_PENDING && unanswered.size < MOST_UNANSWERED) break
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
        for (const { id, over, waiting } of await readProgress(db, [...pending.keys()])) {
          if (over) pending.delete(id)
          else if (waiting !== null) pending.set(id, waiting)
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

type Progress = { id: number; over: boolean; waiting: number | null }

/** How many devices of each task wait; null while it is not planned. */
async function readProgress(db: Database, tasks: number[]): Promise<Progress[]> {
  const { rows } = await db.pool.query<Progress>(
    `SELECT t.id, t.state IN ('finished', 'cancelled') AS over, CASE WHEN t.state = 'sending' THEN
       (SELECT coalesce(sum(target - sent - failed - moved - expired - cancelled), 0) FROM counter WHERE task_id = t.id)
     END::int AS waiting FROM task t WHERE t.id = ANY($1::bigint[])`,
    [tasks],
  )
  return rows
}

function sumOf(counts: ReadonlyMap<number, number>): number {
  let sum = 0
  for (const count of counts.values()) sum += count
  return sum
}
