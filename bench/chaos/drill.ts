import { sleep } from '@herald/async'
import { findEventImbalances, findLetterImbalances } from '@herald/db/readings'
import { vendorChannels } from '@herald/domain'
import { until } from '@herald/testkit'
import { percentile } from '../metric.ts'
import { openCaller } from './caller.ts'
import { untilAllOpen, watchCertificates } from './certificate-watch.ts'
import { compare, countUnheard } from './compare.ts'
import { compareEvents } from './compare-events.ts'
import { type DeploymentOptions, startDeployment, untilReady } from './deployment.ts'
import { startErasing } from './erasing.ts'
import type { SinkRecords } from './event-sink.ts'
import { type Fairness, fairnessOf, findUnfairness } from './fairness.ts'
import { runFairness } from './fairness-run.ts'
import { makeFault, type PushInFlight } from './faults.ts'
import { createFlood, FLOOD_CONNECTIONS } from './flood.ts'
import { type HeraldRecords, placeName, readHeraldRecords, remainsOf } from './herald-records.ts'
import { type Accepted, startLoad } from './load.ts'
import { watchLostResponses } from './lost-responses.ts'
import { withPriority } from './priority.ts'
import { randomFrom } from './random.ts'
import { measureResources, type Resources, untilReleased } from './resources.ts'
import { startSampling } from './sampling.ts'
import {
  type DrillProcess,
  describeFault,
  type Fault,
  type FaultKind,
  scheduleCourierFaults,
  scheduleFaults,
} from './schedule.ts'
import { untilAllEnded } from './until-all-ended.ts'
import { untilAllTold } from './until-all-told.ts'
import { createVendorFaults } from './vendor-faults.ts'
import { readLedgers } from './vendors.ts'

export type DrillOptions = DeploymentOptions & {
  seconds: number
  /** Seconds between two faults. */
  every: number
  /** Devices per second that the load requests. */
  rate: number
  /** The load goes on after `seconds` until it has asked for this much: on a slow machine faults last longer than the load. */
  minimum?: { deliveries: number; erased: number }
  /** Makes only faults of these kinds. */
  only?: readonly FaultKind[]
  /** Seconds of the flood after the load, during which fairness is measured; 0 to leave it out. */
  fairness: number
}

export type DrillReport = {
  options: DrillOptions
  /** Duration of the load, and from its end until all tasks had ended. */
  seconds: number
  endedAfter: number
  faults: Fault[]
  /** Why kinds of faults were left out on this machine. */
  leftOut: string[]
  restarts: number
  tasks: number
  deliveries: number
  /** Number of devices that were erased during the load. */
  erased: number
  samples: number
  duplicates: number
  duplicatesBound: number
  /** The parts of the bound. */
  bound: { lostResponses: number; inFlight: number; lateAcknowledgements: number }
  /** What the server of the application received. */
  events: Pick<SinkRecords, 'entries' | 'repeated' | 'requests' | 'failed'>
  fairness: Fairness | undefined
  /** How often a certificate was closed and a breaker opened, and whether all are open again without a person. */
  certificates: { closed: number; breakers: number; areOpen: boolean }
  lost: string[]
  unbalanced: string[]
  /** All other violations. */
  broken: string[]
  refusals: Record<string, number>
  latencies: { p50: number; p95: number; p99: number }
  resources: { before: Resources; after: Resources }
}

const SAMPLE_MS = 1000
const END_SECONDS = 240
const RELEASE_SECONDS = 90
const OPEN_SECONDS = 60
const TOLD_SECONDS = 240
/** Pushes of one flood among other faults, so that the drill ends soon after its load. */
const MAX_FLOOD = 3000

/** Runs all processes under a mixed load and a schedule of faults, then compares Herald's records with all others. */
export async function runDrill(options: DrillOptions): Promise<DrillReport> {
  const { seed, seconds, log } = options
  const closing: (() => Promise<unknown>)[] = []
  const broken: string[] = []
  const unbalanced: string[] = []
  try {
    const onBroken = (sentence: string) => void broken.push(sentence)
    const deployment = await startDeployment(options, closing, onBroken)
    const { db, queue, vendors, processes, tenant, devices, sink } = deployment
    const { population } = tenant
    const measure = () => measureResources(processes, db, queue)
    const before = await measure()

    const sampling = startSampling(db, SAMPLE_MS, unbalanced)
    closing.push(sampling.stop)
    const lostResponses = watchLostResponses(processes)
    closing.push(lostResponses.stop)
    const caller = openCaller(processes.apis, tenant.appId, tenant.appSecret)
    closing.push(caller.close)
    let inFlight = 0
    const unrecorded = new Set<string>()
    const flooderCaller = openCaller(
      processes.apis,
      deployment.flooder.appId,
      deployment.flooder.appSecret,
      FLOOD_CONNECTIONS,
    )
    closing.push(flooderCaller.close)
    const flooded: Accepted[] = []
    const flood = createFlood({
      caller: flooderCaller,
      devices: deployment.flooder.devices,
      accepted: flooded,
      onBroken,
    })
    const targets = {
      ...deployment,
      allow(count: number, pushes: readonly PushInFlight[] = []) {
        inFlight += count
        for (const { task, device, channel } of pushes) unrecorded.add(placeName(task, device, channel))
      },
      vendorFaults: createVendorFaults(vendors),
      onBroken,
      flood(seconds: number) {
        const until = performance.now() + seconds * 1000
        return flood.run(() => performance.now() >= until, MAX_FLOOD)
      },
    }
    const watch = watchCertificates(db)
    closing.push(watch.stop)
    const load = startLoad({
      caller,
      db,
      population,
      random: randomFrom(seed + 3),
      rate: options.rate,
      onBroken,
    })
    closing.push(load.end)
    const erasingCaller = openCaller(processes.apis, tenant.appId, tenant.appSecret, 8)
    closing.push(erasingCaller.close)
    const erasing = startErasing({
      caller: erasingCaller,
      population,
      random: randomFrom(seed + 5),
      onBroken,
    })
    closing.push(erasing.end)
    const { erased } = erasing
    const { whyNeverFull } = deployment.postgres
    const leftOut = whyNeverFull === undefined ? [] : [`disk-full: ${whyNeverFull}`]
    for (const sentence of leftOut) log(`left out: ${sentence}`)
    const isCourier = ({ role }: DrillProcess) => role === 'courier'
    const faults = [
      ...scheduleFaults({
        ...options,
        processes: processes.list.filter((one) => !isCourier(one)),
        channels: vendorChannels,
        canFillDisk: whyNeverFull === undefined,
      }),
      ...scheduleCourierFaults({
        ...options,
        seed: seed + 7,
        couriers: processes.list.filter(isCourier),
      }),
    ].sort((a, b) => a.at - b.at)
    const began = performance.now()
    const sinceStart = () => (performance.now() - began) / 1000
    const faulting = faults.map(async (fault) => {
      await sleep(fault.at * 1000)
      log(`${sinceStart().toFixed(1)} s  ${describeFault(fault)}`)
      await makeFault(fault, targets).catch((error: Error) => log(`  ended early: ${error.message}`))
    })
    closing.push(() => Promise.all(faulting))
    await sleep(seconds * 1000)
    const { minimum } = options
    if (minimum)
      await until(
        () => {
          const deliveries = countCertain(load.accepted)
          if (deliveries > minimum.deliveries && erased.size > minimum.erased) return true
          throw new Error(`${deliveries} deliveries and ${erased.size} erasures`)
        },
        { what: 'enough requests' },
      )
    await load.end()
    await erasing.end()
    const loaded = sinceStart()
    log(`${loaded.toFixed(1)} s  ${load.accepted.length} tasks accepted, end of the load`)
    await Promise.all(faulting)
    await devices.connectAll()
    await untilAllEnded(db, END_SECONDS, log).catch((error: Error) => onBroken(error.message))
    const endedAfter = sinceStart() - loaded
    log(`${sinceStart().toFixed(1)} s  all tasks have ended`)
    const areOpen = await untilAllOpen(db, OPEN_SECONDS).then(
      () => true,
      (error: Error) => {
        onBroken(error.message)
        return false
      },
    )
    const own: Accepted[] = []
    if (options.fairness > 0) {
      // While an API starts or the events of the load are sent, pushes would wait for these and not for the flood.
      const settled = untilReady(processes.apis).then(() => untilAllTold(db, TOLD_SECONDS))
      await settled.catch((error: Error) => onBroken(error.message))
    }
    const fairnessRun =
      options.fairness > 0
        ? await withPriority([process.pid, vendors.pid], () =>
            runFairness({
              caller,
              flood,
              flooded,
              db,
              population: { ...population, numbers: population.numbers.filter((n) => !erased.has(n)) },
              random: randomFrom(seed + 4),
              seconds: options.fairness,
              accepted: own,
              log: (sentence) => log(`${sinceStart().toFixed(1)} s  ${sentence}`),
            }),
          )
        : undefined
    await untilAllEnded(db, END_SECONDS, log).catch((error: Error) => onBroken(error.message))
    const accepted = [...load.accepted, ...flooded, ...own]

    const ledgers = await readLedgers(vendors)
    const shown = await devices.shown()
    const records = await readHeraldRecords(db, [...shown.keys()])
    const findings = compare({ accepted, population, erased, ledgers, unrecorded, shown, records })
    // Receipts may arrive after the tasks have ended: counters and events are compared when neither changes any more.
    let counted = records
    for (let received = -1; received !== countReceived(counted); ) {
      received = countReceived(counted)
      await untilAllTold(db, TOLD_SECONDS).catch((error: Error) => onBroken(error.message))
      counted = await readHeraldRecords(db, [...shown.keys()])
    }
    log(`${sinceStart().toFixed(1)} s  all events were sent`)
    const told = sink.records()
    const untold = compareEvents({ accepted, erased, ledgers, records: counted, sink: told })
    for (const row of (await findEventImbalances(db)).slice(0, 20))
      untold.push(`events: ${JSON.stringify(row)}`)
    for (const row of (await findLetterImbalances(db)).slice(0, 20))
      untold.push(`letters: ${JSON.stringify(row)}`)
    broken.push(...(await remainsOf(db, tenant.appId, population, [...erased])))
    const fairness = fairnessRun && fairnessOf(fairnessRun, ledgers)
    if (fairness) broken.push(...findUnfairness(fairness))
    // Their idle connections would keep descriptors of the APIs open.
    await Promise.all([caller.close(), flooderCaller.close(), erasingCaller.close()])
    const { after, leaks } = await untilReleased(before, measure, RELEASE_SECONDS)
    log(`${sinceStart().toFixed(1)} s  resources measured`)
    await sampling.stop()
    await watch.stop()
    await lostResponses.stop()
    const bound = {
      // Vendors and workers both count lost responses, and both miss some: a worker those of a killed process, a vendor those
      // that arrived after the timeout over HTTP/2.
      lostResponses: Math.max(countUnheard(ledgers), lostResponses.count()),
      inFlight,
      lateAcknowledgements: findings.lateAcknowledgements,
    }
    const duplicatesBound = bound.lostResponses + bound.inFlight + bound.lateAcknowledgements
    if (findings.duplicates > duplicatesBound)
      broken.push(`${findings.duplicates} duplicates, but faults explain only ${duplicatesBound}`)
    return {
      options,
      seconds: Math.round(loaded),
      endedAfter: Math.round(endedAfter),
      faults,
      leftOut,
      restarts: [...processes.byName.values()].reduce((sum, process) => sum + process.restarts(), 0),
      tasks: accepted.length,
      deliveries: findings.deliveries,
      erased: erased.size,
      samples: sampling.count(),
      duplicates: findings.duplicates,
      duplicatesBound,
      bound,
      fairness,
      certificates: { ...watch.counts(), areOpen },
      lost: findings.lost,
      events: {
        entries: told.entries,
        repeated: told.repeated,
        requests: told.requests,
        failed: told.failed,
      },
      unbalanced: [...unbalanced, ...findings.wrong, ...untold],
      broken: [...broken, ...leaks],
      refusals: Object.fromEntries(caller.refusals),
      latencies: percentiles(caller.latencies),
      resources: { before, after },
    }
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

function percentiles(values: readonly number[]) {
  const at = (share: number) => Math.round(percentile(values, share))
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}

/** Devices that will be reached unless they are erased. */
function countCertain(accepted: readonly Accepted[]): number {
  return accepted.reduce(
    (sum, { request: { devices, followUp, ttl } }) =>
      followUp === 'cancel' || ttl !== undefined ? sum : sum + devices.length,
    0,
  )
}

/** Receipts and clicks only grow. */
function countReceived({ counters }: HeraldRecords): number {
  let count = 0
  for (const rows of counters.values()) for (const { received, clicked } of rows) count += received + clicked
  return count
}
