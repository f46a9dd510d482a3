import { sleep } from '@herald/async'
import { taskCountersSql, taskStatesSql } from '@herald/db/readings'
import type { Database } from '@herald/db/store'
import type { Caller } from './caller.ts'
import type { Population } from './population.ts'
import { between, type Random } from './random.ts'
import { bodyOf, type NotifyRequest, nextRequest } from './requests.ts'

/** A request that was answered with 200, and the task id of the response. */
export type Accepted = { task: number; request: NotifyRequest }

export type Load = {
  accepted: readonly Accepted[]
  /** Sends no more requests; resolves when those in flight and their follow-ups are done. */
  end(): Promise<void>
}

/** Pending devices above which no request is sent, so that the drill ends soon after its faults. */
const MAX_PENDING = 40_000
const MAX_IN_FLIGHT = 24
/** How much of the rate is made up for after an outage. */
const MAX_CREDIT_SECONDS = 8

/** Mixed load of about `rate` devices per second; less while many are pending. */
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
  /** Pending devices by task. */
  const pending = new Map<number, number>()
  const inFlight = new Set<Promise<void>>()
  let ended = false

  async function send(request: NotifyRequest): Promise<void> {
    const responses = await Promise.all(
      Array.from({ length: request.copies }, () => caller.call('/push/notify', bodyOf(request))),
    )
    const ids = new Set(responses.map(({ task_id }) => Number(task_id)))
    const [task = Number.NaN] = ids
    if (ids.size !== 1) onBroken(`copies of ${request.requestId} got the ids ${[...ids].join(', ')}`)
    accepted.push({ task, request })
    pending.set(task, request.devices.length)
    if (request.followUp === 'pause') {
      await sleep(between(random, 100, 600))
      await control('pause', task)
      await sleep(between(random, 500, 2500))
      await control('resume', task)
    } else if (request.followUp === 'cancel') {
      await sleep(between(random, 50, 800))
      await control('cancel', task)
    }
  }

  const control = (verb: string, task: number) => caller.call(`/push/task/${verb}`, { task_id: task })

  const sending = (async () => {
    let credit = rate
    let last = performance.now()
    for (let n = 0; !ended; n++) {
      const request = nextRequest(random, population, n)
      for (;;) {
        const now = performance.now()
        credit = Math.min(credit + ((now - last) / 1000) * rate, MAX_CREDIT_SECONDS * rate)
        last = now
        if (ended) return
        if (credit > 0 && sumOf(pending) < MAX_PENDING && inFlight.size < MAX_IN_FLIGHT) break
        await sleep(10)
      }
      credit -= request.devices.length
      const sent = send(request).catch((error: Error) => onBroken(error.message))
      inFlight.add(sent)
      sent.finally(() => inFlight.delete(sent))
    }
  })()

  const watching = (async () => {
    while (!ended) {
      await sleep(500)
      try {
        for (const { id, ended, waiting } of await readProgress(db, [...pending.keys()])) {
          if (ended) pending.delete(id)
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
      ended = true
      await Promise.all([sending, watching])
      await Promise.all(inFlight)
    },
  }
}

type Progress = { id: number; ended: boolean; waiting: number | null }

/** Reads the number of pending devices of each task; null while it is not planned. */
async function readProgress(db: Database, tasks: number[]): Promise<Progress[]> {
  const { rows } = await db.pool.query<Progress>(
    `SELECT t.id, t.state IN ('finished', 'cancelled') AS ended, CASE WHEN t.state = 'sending' THEN
       (SELECT coalesce(sum(target - sent - failed - moved - expired - cancelled), 0) FROM ${taskCountersSql} c WHERE task_id = t.id)
     END::int AS waiting FROM ${taskStatesSql} t WHERE t.id = ANY($1::bigint[])`,
    [tasks],
  )
  return rows
}

function sumOf(counts: ReadonlyMap<number, number>): number {
  let sum = 0
  for (const count of counts.values()) sum += count
  return sum
}
