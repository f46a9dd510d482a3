import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { measureGorush } from './gorush/run.ts'
import { measureHttp2 } from './http2/run.ts'
import { measureLoaded } from './loaded/run.ts'
import type { Metrics } from './metric.ts'
import { measureNative } from './native/run.ts'
import { type Options, type Part, readOptions, usage } from './options.ts'
import { measureAccept } from './pipeline/accept.ts'
import { measureAcceptList } from './pipeline/accept-list.ts'
import { measureBroadcast } from './pipeline/broadcast.ts'
import { measureBroadcastEvents } from './pipeline/broadcast-events.ts'
import { measureDevices } from './pipeline/devices.ts'
import { measureFairness } from './pipeline/fairness.ts'
import { measureHistory } from './pipeline/history.ts'
import { measureIdle } from './pipeline/idle.ts'
import { measureIdlePrograms } from './pipeline/idle-programs.ts'
import { measureImport } from './pipeline/import.ts'
import { measureMixed } from './pipeline/mixed.ts'
import { measureReceipts } from './pipeline/receipts.ts'
import { measureScheduled } from './pipeline/scheduled.ts'
import { measureStandalone } from './pipeline/standalone.ts'
import { measureTenants, quickTenantSizes, tenantSizes } from './pipeline/tenants.ts'
import { measureWebhooks } from './pipeline/webhooks.ts'
import { type Report, type Stamp, withFigures, withRatios } from './report.ts'

// Programs and servers that the benchmark started end when it exits.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
const { quick, only, loaded } = readArgs()
const devices = quick ? 100_000 : 1_000_000

const suites: Record<Part, () => Promise<Metrics>> = {
  http2: () => measureHttp2({ quick }),
  accept: () => measureAccept(quick ? 5_000 : 30_000),
  'accept-list': () => measureAcceptList(quick ? 10 : 60),
  tenants: () => measureTenants(quick ? quickTenantSizes : tenantSizes),
  standalone: () => measureStandalone(quick ? 3_000 : 20_000),
  fairness: () => measureFairness(quick ? 5 : 20),
  gorush: () => measureGorush({ broadcast: 100_000, singles: quick ? 5_000 : 30_000 }),
  scheduled: () => measureScheduled(quick ? 10_000 : 100_000),
  receipts: () => measureReceipts(quick ? 9_000 : 36_000),
  native: () => measureNative(quick ? 2_000 : 15_000),
  import: () => measureImport(devices),
  devices: () => measureDevices(quick ? 6_000 : 40_000, quick ? 40_000 : 400_000),
  history: () => measureHistory(devices, quick ? 2_000 : 10_000),
  webhooks: () => measureWebhooks(devices),
  idle: () => measureIdle(quick ? 15 : 60),
  'idle-programs': () => measureIdlePrograms(quick ? 15 : 60),
  broadcast: () => measureBroadcast('redis', devices, 10_000),
  'broadcast-events': () => measureBroadcastEvents(devices / 5),
  mixed: () => measureMixed(devices, 10_000),
  'broadcast-postgres': () => measureBroadcast('postgres', devices, 10_000),
}

const file = new URL('./latest.json', import.meta.url)

const { metrics, failed } = loaded
  ? await measureLoaded({ ...loaded, say: (line) => console.log(line) })
  : await measureAll()
if (!loaded && only === undefined) write((before, stamp) => withFigures(before, stamp, metrics))
if (loaded && loaded.only === undefined && loaded.load === undefined && loaded.scale !== 'small')
  write((before, stamp) => withRatios(before, stamp, metrics))
if (failed.length > 0) console.error(`failed, without figures: ${failed.join(', ')}`)
process.exit(failed.length > 0 ? 1 : 0)

/** Prints the help, or refuses, before anything starts. */
function readArgs(): { quick: boolean; only?: Part; loaded?: Extract<Options, { loaded: true }> } {
  const read = readOptions(process.argv.slice(2))
  if ('help' in read) {
    process.stdout.write(usage)
    process.exit(0)
  }
  if ('refusal' in read) {
    process.stderr.write(`${read.refusal}\nnpm run bench -- --help prints the options.\n`)
    process.exit(1)
  }
  const { options } = read
  return options.loaded
    ? { quick: options.scale === 'quick', loaded: options }
    : { quick: options.quick, only: options.only }
}

/** A part that fails does not lose the figures of the others. */
async function measureAll(): Promise<{ metrics: Metrics; failed: string[] }> {
  const metrics: Metrics = {}
  const failed: string[] = []
  for (const [name, measure] of Object.entries(suites)) {
    if (only !== undefined && only !== name) continue
    process.stdout.write(`${name} …\n`)
    const found = await measure().catch((error) => {
      console.error(error)
      failed.push(name)
      return {}
    })
    for (const [metric, { value, unit, note }] of Object.entries(found))
      console.log(`  ${metric}  ${value} ${unit}  (${note})`)
    Object.assign(metrics, found)
  }
  return { metrics, failed }
}

function write(change: (before: Report | undefined, stamp: Stamp) => Report): void {
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Report) : undefined
  const stamp: Stamp = {
    machine: `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`,
    date: new Date().toISOString(),
    commit: execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim(),
    quick,
  }
  writeFileSync(file, `${JSON.stringify(change(before, stamp), null, 2)}\n`)
  console.log('written to bench/latest.json')
}
