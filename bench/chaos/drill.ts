import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { certificatesOf, createSealer, type Database, openDatabase } from '@herald/db'
import { vendorChannels } from '@herald/domain'
import { callbackUrlOf } from '@herald/plan'
import { keepDemoCredentials } from '@herald/standalone'
import { until } from '@herald/testkit'
import { percentile } from '../metric.ts'
import { readBooks } from './books.ts'
import { openCaller } from './caller.ts'
import { prepareCast, rolesOf } from './cast.ts'
import { compare, unheardOf } from './compare.ts'
import { makeFault } from './faults.ts'
import { startDrillFlock } from './flock.ts'
import { startLoad } from './load.ts'
import { watchMissedAnswers } from './missed-answers.ts'
import { createTenant, deadTokens } from './population.ts'
import { startDrillPostgres } from './postgres-server.ts'
import { startQueueServers } from './queue-servers.ts'
import { randomFrom } from './random.ts'
import { measureRest, type Rest, settleDown } from './rest.ts'
import { startSampling } from './sampling.ts'
import { describeFault, type Fault, type QueueKind, scheduleFaults } from './schedule.ts'
import { readLedgers, startVendors } from './vendors.ts'

export type DrillOptions = {
  seconds: number
  seed: number
  queue: QueueKind
  /** Seconds between two faults. */
  every: number
  /** Devices a second that the load asks for. */
  rate: number
  devices: number
  size: 'full' | 'small'
  /** Time limit of one call to a vendor; a busy machine needs more, a vendor that hangs holds its worker for so long. */
  sendTimeout: number
  log(sentence: string): void
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
  const { seed, seconds, queue: queueKind, log } = options
  const closing: (() => Promise<unknown>)[] = []
  const broken: string[] = []
  const unbalanced: string[] = []
  try {
    const dir = mkdtempSync(join(tmpdir(), 'herald-chaos-keys-'))
    closing.push(async () => rmSync(dir, { recursive: true, force: true }))
    const postgres = await startDrillPostgres()
    closing.push(postgres.stop)
    const queue = await startQueueServers(queueKind, postgres.url)
    closing.push(queue.stop)
    const credentials = await keepDemoCredentials(dir)
    const vendors = await startVendors(dir, (sentence) => {
      broken.push(sentence)
      log(sentence)
    })
    closing.push(vendors.stop)
    const cast = await prepareCast(rolesOf(options.size), randomFrom(seed + 1))
    closing.push(cast.stop)
    const db = openDatabase(postgres.url, { max: 12, name: 'chaos', onIdleError: () => {} })
    closing.push(db.close)

    log(
      `${options.devices} devices, ${cast.roles.length} processes of Herald, ${queueKind} queue, seed ${seed}`,
    )
    const sealer = createSealer(cast.masterKey)
    const { appId, appSecret, population } = await createTenant(db, sealer, credentials, options.devices)
    for (const certificate of await certificatesOf(db, sealer, appId)) {
      const url = callbackUrlOf(certificate, `http://127.0.0.1:${cast.front.port}`)
      if (url) vendors.registerReceipts(certificate.channel, url)
    }
    for (const channel of vendorChannels) await vendors.kill(channel, deadTokens(population, channel))

    cast.start({
      ...vendors.env,
      DATABASE_URL: postgres.url,
      QUEUE_URL: queue.url,
      HERALD_SEND_TIMEOUT_SECONDS: String(options.sendTimeout),
    })
    for (const base of cast.apis)
      await until(async () => (await fetch(`${base}/readyz`)).ok, {
        what: `the API at ${base}`,
        seconds: 120,
      })
    const members = population.flockTag[1]
    const flock = await startDrillFlock({
      url: `ws://127.0.0.1:${cast.native.port}/native`,
      devices: members.map((n) => ({ id: population.ids[n]!, pushToken: population.pushTokens[n]! })),
      seed: seed + 2,
    })
    closing.push(flock.stop)
    await until(async () => (await flock.online()) >= members.length * 0.95, {
      what: 'the devices to connect',
      seconds: 120,
      everyMs: 200,
    })
    const before = await measureRest(cast, db, queue)

    const sampling = startSampling(db, SAMPLE_MS, unbalanced)
    closing.push(sampling.stop)
    const missed = watchMissedAnswers(cast)
    closing.push(missed.stop)
    const caller = openCaller(cast.apis, appId, appSecret)
    closing.push(caller.close)
    let underWay = 0
    const places = { cast, db, postgres, queue, vendors, allow: (devices: number) => (underWay += devices) }
    const load = startLoad({
      caller,
      db,
      population,
      random: randomFrom(seed + 3),
      rate: options.rate,
      onBroken: (sentence) => broken.push(sentence),
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
    await until(() => isQuiet(db), {
      what: 'the end of what is open',
      seconds: QUIET_SECONDS,
      everyMs: 500,
    }).catch(async (error: Error) => broken.push(`${error.message} ${await describeOpen(db)}`))
    const quietAfter = sinceStart() - loaded
    log(`${sinceStart().toFixed(1)} s  quiet`)

    const ledgers = await readLedgers(vendors)
    const shown = await flock.shown()
    const books = await readBooks(
      db,
      members.map((n) => population.ids[n]!),
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

const openSql = `SELECT count(*)::int AS tasks, min(id) AS first FROM task WHERE state NOT IN ('finished', 'cancelled')`

async function isQuiet(db: Database): Promise<boolean> {
  const { rows } = await db.pool.query<{ tasks: number; inbox: boolean }>(
    `SELECT o.tasks, EXISTS (SELECT 1 FROM inbox) AS inbox FROM (${openSql}) o`,
  )
  return rows[0]!.tasks === 0 && !rows[0]!.inbox
}

async function describeOpen(db: Database): Promise<string> {
  const { rows } = await db.pool.query(
    `SELECT o.*, t.state, t.paused, t.cancelling,
       (SELECT json_agg(DISTINCT jsonb_build_object('channel', channel, 'state', state, 'attempts', attempts,
          'wait', round(extract(epoch FROM not_before - now())), 'troubled', now() - trouble_since)) FROM batch
        WHERE task_id = o.first AND state <> 'settled') AS batches,
       (SELECT count(*)::int FROM inbox) AS inbox,
       (SELECT json_agg(DISTINCT state || ' ' || coalesce(last_error, '')) FROM certificate) AS certificates
     FROM (${openSql}) o LEFT JOIN task t ON t.id = o.first`,
  )
  return JSON.stringify(rows[0])
}

function percentiles(values: readonly number[]) {
  const at = (share: number) => Math.round(percentile(values, share))
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}
