import { randomBytes } from 'node:crypto'
import { createSealer, openDatabase } from '@herald/db/store'
import { findProgram } from '@herald/testkit'
import { inCopy } from '../copy-database.ts'
import type { Metrics } from '../metric.ts'
import { measureNative } from '../native/run.ts'
import type { Load, LoadedPart } from '../options.ts'
import { acceptAndSend, acceptOnly } from '../pipeline/accept.ts'
import { measureBroadcast } from '../pipeline/broadcast.ts'
import { type GivenDatabase, startBenchServer } from '../pipeline/deployment.ts'
import { measureIdlePrograms } from '../pipeline/idle-programs.ts'
import { importPlain, importTagged } from '../pipeline/import.ts'
import { measureMixed } from '../pipeline/mixed.ts'
import { measureReceipts } from '../pipeline/receipts.ts'
import { measureScheduled } from '../pipeline/scheduled.ts'
import { measureFirstLook } from './first-look.ts'
import { daysSizes, emptySizes, loadedSizes, prepare, rowsSizes, type Sizes, smallSizes } from './prepare.ts'
import { aboveLimit, LIMIT, loadedRatios, needsAnotherRound, type Round, startFigures } from './ratios.ts'

type Scale = {
  sizes: Sizes
  pushes: number
  scheduled: number
  receipts: number
  connections: number
  devices: number
  few: number
  seconds: number
  settleMs: number
}

const scales = {
  full: {
    sizes: loadedSizes,
    pushes: 30_000,
    scheduled: 50_000,
    receipts: 36_000,
    connections: 10_000,
    devices: 500_000,
    few: 100_000,
    seconds: 60,
    settleMs: 60_000,
  },
  quick: {
    sizes: loadedSizes,
    pushes: 10_000,
    scheduled: 10_000,
    receipts: 20_000,
    connections: 2_000,
    devices: 100_000,
    few: 10_000,
    seconds: 20,
    settleMs: 20_000,
  },
  // Shows that it works; its figures mean nothing.
  small: {
    sizes: smallSizes,
    pushes: 300,
    scheduled: 200,
    receipts: 300,
    connections: 50,
    devices: 3_000,
    few: 300,
    seconds: 2,
    settleMs: 0,
  },
} satisfies Record<string, Scale>

const loads: Record<Load, Sizes> = { days: daysSizes, rows: rowsSizes }

/** Of a part in which a ratio stays above the limit. */
const MAX_ROUNDS = 4

type Suite = (database: GivenDatabase) => Promise<Metrics>

function suitesOf(scale: Scale): Record<LoadedPart, Suite> {
  const { pushes, scheduled, receipts, connections, devices, few, seconds } = scale
  return {
    'first-look': measureFirstLook,
    accept: (database) => acceptOnly(pushes, database),
    'end-to-end': (database) => acceptAndSend(pushes, database),
    scheduled: (database) => measureScheduled(scheduled, database),
    receipts: (database) => measureReceipts(receipts, database),
    native: (database) => measureNative(connections, database),
    import: (database) => importPlain(devices, database),
    'import-tagged': (database) => importTagged(devices, database),
    'idle-programs': (database) => measureIdlePrograms(seconds, database),
    broadcast: (database) => measureBroadcast('redis', devices, few, database),
    mixed: (database) => measureMixed(devices, few, database),
    'broadcast-postgres': (database) => measureBroadcast('postgres', devices, few, database),
  }
}

/**
 * Takes every figure in an empty and in a loaded database by turns: empty, loaded, loaded, empty, so that a machine that becomes slower or
 * faster in between changes both. Two rounds, and more up to `rounds` while a ratio is above the limit. Each run gets its own copy of the
 * prepared database, so that no run leaves anything for the next. `only` names one suite.
 */
export async function measureLoaded(options: {
  scale: keyof typeof scales
  load?: Load
  only?: string
  rounds?: number
  say(line: string): void
}): Promise<{ metrics: Metrics; failed: string[] }> {
  const { say, rounds: max = MAX_ROUNDS } = options
  if (findProgram('redis-server') === undefined) throw new Error('redis-server is not installed.')
  const scale = scales[options.scale]
  const suites = Object.entries(suitesOf(scale)).filter(
    ([name]) => options.only === undefined || name === options.only,
  )
  if (suites.length === 0) throw new Error(`There is no suite ${options.only}.`)
  const server = await startBenchServer()
  try {
    const masterKey = randomBytes(32)
    const template = async (kind: string, sizes: Sizes) => {
      say(`${kind} database`)
      const url = await server.createDatabase()
      const db = openDatabase(url, { max: 4, name: 'prepare' })
      try {
        await prepare(db, createSealer(masterKey), sizes, (step) => say(`  ${step}`))
      } finally {
        await db.close()
      }
      return url
    }
    const templates = {
      empty: await template('empty', emptySizes),
      loaded: await template('loaded', options.load ? loads[options.load] : scale.sizes),
    }
    const metrics: Metrics = {}
    const failed: string[] = []
    for (const [name, measure] of suites) {
      const rounds: Round[] = []
      const run = (kind: keyof typeof templates) => {
        say(`${name}, round ${rounds.length + 1}, ${kind} …`)
        return inCopy(templates[kind], (url) => measure({ url, masterKey, settleMs: scale.settleMs }))
      }
      try {
        while (needsAnotherRound(rounds, max)) {
          if (rounds.length % 2 === 0) rounds.push({ empty: await run('empty'), loaded: await run('loaded') })
          else rounds.push({ loaded: await run('loaded'), empty: await run('empty') })
        }
      } catch (error) {
        // A part that fails does not lose the figures of the others.
        console.error(error)
        failed.push(name)
        continue
      }
      const found = { ...loadedRatios(rounds), ...startFigures(rounds) }
      for (const [metric, { value, unit, note }] of Object.entries(found))
        say(`  ${metric}  ${value} ${unit}  (${note})`)
      Object.assign(metrics, found)
    }
    const above = aboveLimit(metrics)
    say(above.length === 0 ? `all within ${LIMIT}` : `above ${LIMIT}: ${above.join(', ')}`)
    return { metrics, failed }
  } finally {
    await server.stop()
  }
}
