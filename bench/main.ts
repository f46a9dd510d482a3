import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { measureHttp2 } from './http2/run.ts'
import type { Metrics } from './metric.ts'
import { measureNative } from './native/run.ts'
import { measureAccept } from './pipeline/accept.ts'
import { measureBroadcast } from './pipeline/broadcast.ts'
import { measureDevices } from './pipeline/devices.ts'
import { measureIdle } from './pipeline/idle.ts'
import { measureImport } from './pipeline/import.ts'
import { measureMixed } from './pipeline/mixed.ts'
import { measureScheduled } from './pipeline/scheduled.ts'

const quick = process.argv.includes('--quick')
const only = process.argv.find((word) => word.startsWith('--only='))?.slice('--only='.length)
const devices = quick ? 100_000 : 1_000_000

const suites: Record<string, () => Promise<Metrics>> = {
  http2: () => measureHttp2({ quick }),
  accept: () => measureAccept(quick ? 5_000 : 30_000),
  scheduled: () => measureScheduled(quick ? 10_000 : 100_000),
  native: () => measureNative(quick ? 2_000 : 15_000),
  import: () => measureImport(devices),
  devices: () => measureDevices(quick ? 6_000 : 40_000, quick ? 40_000 : 400_000),
  idle: () => measureIdle(quick ? 15 : 60),
  broadcast: () => measureBroadcast('redis', devices, 10_000),
  mixed: () => measureMixed(devices, 10_000),
  'broadcast-postgres': () => measureBroadcast('postgres', devices, 10_000),
}

const metrics: Metrics = {}
for (const [name, measure] of Object.entries(suites)) {
  if (only !== undefined && only !== name) continue
  process.stdout.write(`${name} …\n`)
  const found = await measure()
  for (const [metric, { value, unit, note }] of Object.entries(found))
    console.log(`  ${metric}  ${value} ${unit}  (${note})`)
  Object.assign(metrics, found)
}

if (only === undefined) {
  const report = {
    machine: `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`,
    date: new Date().toISOString(),
    commit: execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim(),
    quick,
    metrics,
  }
  writeFileSync(
    fileURLToPath(new URL('./latest.json', import.meta.url)),
    `${JSON.stringify(report, null, 2)}\n`,
  )
  console.log('written to bench/latest.json')
}
process.exit(0)
