import { sleep } from '@herald/async'
import { taskStatesSql } from '@herald/db/readings'
import type { Database } from '@herald/db/store'
import { until } from '@herald/testkit'
import type { Caller } from './caller.ts'
import { readCpuTicks, shareOfOthers } from './cpu-share.ts'
import type { FairnessRun, Observed, TimedTask } from './fairness.ts'
import { type Flood, singlePush } from './flood.ts'
import type { Accepted } from './load.ts'
import { hasOneVendor, type Population } from './population.ts'
import { pick, type Random } from './random.ts'
import { bodyOf, type NotifyRequest } from './requests.ts'
import { untilAllEnded } from './until-all-ended.ts'

const BROADCASTS = 3
const SINGLES_PER_SECOND = 20
/** A flood that is just beginning has no backlog yet. */
const FLOOD_BEFORE_MS = 2000
const MAX_FLOOD = 200_000
const END_SECONDS = 240

/** Sends broadcasts and single pushes of one application, first alone, then during the flood of another. */
export async function runFairness(options: {
  caller: Caller
  flood: Flood
  flooded: readonly Accepted[]
  db: Database
  population: Population
  random: Random
  /** Duration with the flood; half of it without. */
  seconds: number
  accepted: Accepted[]
  log(sentence: string): void
}): Promise<FairnessRun> {
  const { flood, flooded, db, seconds, log } = options
  log('single pushes and broadcasts, without a flood')
  const quiet = await observe(options, 'quiet', Math.ceil(seconds / 2))
  await untilAllEnded(db, END_SECONDS, log)

  log('the same, during a flood of another application')
  const before = { accepted: flooded.length, sent: flood.sent(), cpu: readCpuTicks(), at: performance.now() }
  let isOver = false
  const flooding = flood.run(() => isOver, MAX_FLOOD)
  await sleep(FLOOD_BEFORE_MS)
  const busy = await observe(options, 'flooded', seconds).finally(() => {
    isOver = true
  })
  const cpu = readCpuTicks()
  const elapsed = (performance.now() - before.at) / 1000
  const ofFlood = flooded.slice(before.accepted).map(({ task }) => task)
  const perSecond = (pushes: number) => pushes / elapsed
  const figures = {
    floodSent: perSecond(flood.sent() - before.sent),
    floodAccepted: perSecond(ofFlood.length),
    floodDelivered: perSecond(ofFlood.length - (await countOpen(db, ofFlood))),
    othersCpu: before.cpu && cpu && shareOfOthers(before.cpu, cpu),
  }
  await flooding
  return { quiet, flooded: busy, ...figures }
}

type Observing = Pick<
  Parameters<typeof runFairness>[0],
  'caller' | 'db' | 'population' | 'random' | 'accepted'
>

/** Sends single pushes for `seconds`, then broadcasts: together they would wait for each other, with and without a flood. */
async function observe(options: Observing, name: string, seconds: number): Promise<Observed> {
  const { caller, db, population, random, accepted } = options
  const send = async (request: NotifyRequest): Promise<TimedTask> => {
    const calledAt = Date.now()
    const { task_id } = await caller.call('/push/notify', bodyOf(request))
    const task = Number(task_id)
    accepted.push({ task, request })
    return { task, calledAt, acceptedAt: Date.now() }
  }
  const devices = population.numbers.filter(hasOneVendor)
  const sending: Promise<TimedTask>[] = []
  const began = performance.now()
  while (performance.now() - began < seconds * 1000) {
    sending.push(send(singlePush(`${name} ${sending.length}`, pick(random, devices))))
    await sleep(1000 / SINGLES_PER_SECOND)
  }
  const singles = await Promise.all(sending)
  await untilEnded(db, singles, 'the single pushes to end')

  const toAll = (n: number): NotifyRequest => ({
    requestId: `${name} broadcast ${n}`,
    audience: 'all',
    devices: population.numbers,
    strategy: 'ospush_only',
    copies: 1,
  })
  const broadcasts = await Promise.all(Array.from({ length: BROADCASTS }, (_, n) => send(toAll(n))))
  await untilEnded(db, broadcasts, 'the broadcasts to end')
  return { broadcasts, singles }
}

function untilEnded(db: Database, tasks: readonly TimedTask[], what: string): Promise<true> {
  const ids = tasks.map(({ task }) => task)
  return until(async () => (await countOpen(db, ids)) === 0, { what, seconds: END_SECONDS, everyMs: 250 })
}

async function countOpen(db: Database, tasks: readonly number[]): Promise<number> {
  const { rows } = await db.pool.query<{ open: number }>(
    `SELECT count(*)::int AS open FROM ${taskStatesSql} t WHERE id = ANY($1::bigint[]) AND state NOT IN ('finished', 'cancelled')`,
    [tasks],
  )
  return rows[0]!.open
}
