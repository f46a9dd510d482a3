import { setTimeout as sleep } from 'node:timers/promises'
import { vendorChannels } from '@herald/domain'
import { percentile } from '../metric.ts'
import { readBooks } from './books.ts'
import { openCaller } from './caller.ts'
import { compare, unheardOf } from './compare.ts'
import { makeFault } from './faults.ts'
import { startLoad } from './load.ts'
import { watchMissedAnswers } from './missed-answers.ts'
import { untilQuiet } from './quiet.ts'
import { randomFrom } from './random.ts'
import { measureRest, type Rest, settleDown } from './rest.ts'
import { startSampling } from './sampling.ts'
import { describeFault, type Fault, scheduleFaults } from './schedule.ts'
import { type StageOptions, setStage } from './stage.ts'
import { readLedgers } from './vendors.ts'

export type DrillOptions = StageOptions & {
  seconds: number
  /** Seconds between two faults. */
  every: number
  /** Devices a second that the load asks for. */
  rate: number
}

export type DrillReport = {
  options: DrillOptions
  /** Of the load, and until everything had ended after it. */
  seconds: number
  quietAfter: number
  faults: Fault[]
  restarts: number
  tasks: number
  deliveries: number
  samples: number
  duplicates: number
  duplicatesBound: number
  /** The parts of the bound. */
  bound: { missedAnswers: number; underWay: number; lateAcknowledgements: number }
  lost: string[]
  unbalanced: string[]
  /** Everything else that is not as promised. */
  broken: string[]
  refusals: Record<string, number>
  latencies: { p50: number; p95: number; p99: number }
  rest: { before: Rest; after: Rest }
}

const SAMPLE_MS = 1000
const QUIET_SECONDS = 240
const REST_SECONDS = 90

/** Real processes, mixed load and a schedule of faults; then Herald's books are held against those of everybody else. */
export async function runDrill(options: DrillOptions): Promise<DrillReport> {
  const { seed, seconds, log } = options
  const closing: (() => Promise<unknown>)[] = []
  const broken: string[] = []
  const unbalanced: string[] = []
  try {
    const onBroken = (sentence: string) => void broken.push(sentence)
    const stage = await setStage(options, closing, onBroken)
    const { db, postgres, queue, vendors, cast, tenant, flock } = stage
    const { population } = tenant
    const before = await measureRest(cast, db, queue)

    const sampling = startSampling(db, SAMPLE_MS, unbalanced)
    closing.push(sampling.stop)
    const missed = watchMissedAnswers(cast)
    closing.push(missed.stop)
    const caller = openCaller(cast.apis, tenant.appId, tenant.appSecret)
    closing.push(caller.close)
    let underWay = 0
    const places = { cast, db, postgres, queue, vendors, allow: (devices: number) => (underWay += devices) }
    const load = startLoad({
      caller,
      db,
      population,
      random: randomFrom(seed + 3),
      rate: options.rate,
      onBroken,
    })
    closing.push(load.end)
    const faults = scheduleFaults({ ...options, roles: cast.roles, channels: vendorChannels })
    const began = performance.now()
    const sinceStart = () => (performance.now() - began) / 1000
    const faulting = faults.map(async (fault) => {
      await sleep(fault.at * 1000)
      log(`${sinceStart().toFixed(1)} s  ${describeFault(fault)}`)
      await makeFault(fault, places).catch((error: Error) => log(`  ended early: ${error.message}`))
    })
    closing.push(() => Promise.all(faulting))
    await sleep(seconds * 1000)
    await load.end()
    const loaded = sinceStart()
    log(`${loaded.toFixed(1)} s  ${load.accepted.length} tasks accepted; no more load`)
    await Promise.all(faulting)
    await flock.gather()
    await untilQuiet(db, QUIET_SECONDS).catch((error: Error) => onBroken(error.message))
    const quietAfter = sinceStart() - loaded
    log(`${sinceStart().toFixed(1)} s  quiet`)

    const ledgers = await readLedgers(vendors)
    const shown = await flock.shown()
    const books = await readBooks(
      db,
      population.flockTag[1].map((n) => population.ids[n]!),
    )
    const findings = compare({ accepted: load.accepted, population, ledgers, shown, books })
    // Its own idle connections would keep those of the APIs open.
    await caller.close()
    const { rest, broken: restless } = await settleDown(
      before,
      () => measureRest(cast, db, queue),
      REST_SECONDS,
    )
    log(`${sinceStart().toFixed(1)} s  at rest`)
    await sampling.stop()
    await missed.stop()
    const bound = {
      // Both count lost answers, each from its side; a worker that died forgot some, a vendor does not know of those that
      // came too late.
      missedAnswers: Math.max(unheardOf(ledgers), missed.count()),
      underWay,
      lateAcknowledgements: findings.lateAcknowledgements,
    }
    const duplicatesBound = bound.missedAnswers + bound.underWay + bound.lateAcknowledgements
    if (findings.duplicates > duplicatesBound)
      broken.push(`${findings.duplicates} duplicates, ${duplicatesBound} are explained by faults`)
    return {
      options,
      seconds: Math.round(loaded),
      quietAfter: Math.round(quietAfter),
      faults,
      restarts: [...cast.byName.values()].reduce((sum, process) => sum + process.restarts(), 0),
      tasks: load.accepted.length,
      deliveries: findings.deliveries,
      samples: sampling.count(),
      duplicates: findings.duplicates,
      duplicatesBound,
      bound,
      lost: findings.lost,
      unbalanced: [...unbalanced, ...findings.wrong],
      broken: [...broken, ...restless],
      refusals: Object.fromEntries(caller.refusals),
      latencies: percentiles(caller.latencies),
      rest: { before, after: rest },
    }
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

function percentiles(values: readonly number[]) {
  const at = (share: number) => Math.round(percentile(values, share))
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}
