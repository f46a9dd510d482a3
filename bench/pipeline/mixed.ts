import { sleep } from '@herald/async'
import type { Channel } from '@herald/domain'
import { freePort } from '@herald/testkit'
import { cpuNote, cpuPerItem, type Metrics, rounded, totalCpuPerItem } from '../metric.ts'
import { type Clients, startClients, untilJoined } from '../native/run.ts'
import { statOf } from '../process-figures.ts'
import {
  checkBalance,
  type Deployment,
  type GivenDatabase,
  startDeployment,
  unlimited,
  untilCounted,
} from './deployment.ts'
import { addMixedDevices, addVendorCertificates } from './mixed-devices.ts'
import { measuredVendors } from './vendor-calls.ts'
import { startVendorSinks, type VendorSinks } from './vendor-sinks.ts'

const channels: readonly Channel[] = [...measuredVendors, 'native']
const MAX_CONNECTIONS = 10_000

const message = { title: 'Sale', body: 'Everything must go', badge: '+1' }

type Processes = { herald: Deployment; sinks: VendorSinks; clients: Clients }

/**
 * One broadcast over the measured vendors and the native channel, from the request to the last commit and the last acknowledgement. Throws if a counter
 * is not exact or differs from what vendors and connected devices received.
 */
export async function measureMixed(
  devices: number,
  small: number,
  database?: GivenDatabase,
): Promise<Metrics> {
  const native = Math.min(MAX_CONNECTIONS, Math.floor(devices / 100))
  const port = await freePort()
  const sinks = await startVendorSinks()
  const clients = await startClients()
  const herald = await startDeployment({
    queue: 'redis',
    workers: channels.map((channel) => `worker-${channel}`),
    env: { ...sinks.env, HERALD_GATEWAY_PORT: String(port) },
    database,
  })
  try {
    const processes = { herald, sinks, clients }
    await addVendorCertificates(herald.db, herald.sealer, herald.appId, unlimited)
    const tokens = await addMixedDevices(herald.db, herald.appId, { devices, native, few: small })
    await untilJoined(herald.db)
    await clients.ask({ ask: 'connect', url: `ws://127.0.0.1:${port}/native`, tokens })
    await sleep(database?.settleMs ?? 0)
    // A warm-up, because connections, prepared statements and the JIT are warm in a real deployment.
    await broadcast(processes, { tag: ['few'] })
    const { rate, cost, cpu, memory } = await broadcast(processes, 'all')
    const [largest = ['', 0]] = [...memory].filter(([name]) => name !== 'api').sort(([, a], [, b]) => b - a)
    const each = Math.floor((devices - native) / measuredVendors.length)
    return {
      broadcast_mixed_devices_per_s: {
        value: rounded(rate),
        unit: 'devices/s',
        note: `${devices.toLocaleString('en')} devices: ${each.toLocaleString('en')} on each of ${measuredVendors.length} vendors, ${native.toLocaleString('en')} connected ones, all of which acknowledged; badge +1, combined, redis queue, notify to last commit, rate limits lifted, distinct devices at every sink equal its target; highest memory: ${largest[0]} with ${rounded(largest[1])} MB; ${cost}`,
      },
      broadcast_mixed_cpu_us_per_device: {
        value: cpu,
        unit: 'µs',
        note: `${cpuNote}, during this broadcast`,
      },
    }
  } finally {
    await herald.stop()
    await clients.stop()
    await sinks.stop()
  }
}

async function broadcast(processes: Processes, audience: 'all' | { tag: string[] }) {
  const { herald, sinks } = processes
  const expected = await expectedTargets(herald, audience !== 'all')
  const count = [...expected.values()].reduce((sum, target) => sum + target, 0)
  await sinks.takeCounts()
  const before = cpuTime(processes)
  const own = herald.cpuTime()
  const started = performance.now()
  const setting = { distribution_strategy: 'combined' }
  const task = await herald.notify({ audience, setting, message })
  const memory = await untilCounted(herald, task, 'sent', count)
  await checkBalance(herald, [task])
  await untilCounted(herald, task, 'received', expected.get('native') ?? 0, 20)
  const rate = (count / (performance.now() - started)) * 1000
  const cost = cpuPerItem(before, cpuTime(processes), count)
  const cpu = totalCpuPerItem(own, herald.cpuTime(), count)
  await checkCounts(processes, task, expected)
  return { rate, cost, cpu, memory }
}

/** Returns the number of devices that each channel has to reach, computed from the bindings. */
async function expectedTargets(herald: Deployment, few: boolean): Promise<Map<Channel, number>> {
  const { rows } = await herald.db.pool.query<{ channel: Channel; count: number }>(
    `SELECT coalesce(channel, 'native') AS channel, count(*)::int AS count
     FROM device LEFT JOIN binding ON binding.device_id = device.id
     WHERE device.app_id = $1 AND (NOT $2 OR device.id IN (SELECT device_id FROM device_tag))
     GROUP BY 1`,
    [herald.appId, few],
  )
  return new Map(rows.map(({ channel, count }) => [channel, count]))
}

/** Compares the counters, and what vendors and connected devices received, with the expected targets. */
async function checkCounts(
  { herald, sinks, clients }: Processes,
  task: number,
  expected: Map<Channel, number>,
): Promise<void> {
  const { rows } = await herald.db.pool.query<{
    channel: Channel
    target: number
    sent: number
    lost: number
  }>(
    `SELECT channel, target::int, sent::int, (failed + moved + expired + cancelled)::int AS lost
     FROM counter WHERE task_id = $1`,
    [task],
  )
  const counters = new Map(rows.map((row) => [row.channel, row]))
  const seen = await sinks.takeCounts()
  const { received } = await clients.ask({ ask: 'received', task })
  for (const channel of channels) {
    const count = expected.get(channel) ?? 0
    const { target = 0, sent = 0, lost = 0 } = counters.get(channel) ?? {}
    if (target !== count || sent !== count || lost !== 0)
      throw new Error(`${channel} has ${count} devices, ${target} targets, ${sent} sent and ${lost} not sent`)
    const { requests, distinct } =
      channel === 'native' ? { requests: received, distinct: received } : (seen[channel] ?? none)
    if (requests !== count || distinct !== count)
      throw new Error(`${channel} saw ${requests} pushes, ${distinct} distinct, instead of ${count}`)
  }
}

const none = { requests: 0, distinct: 0 }

function cpuTime({ herald, sinks, clients }: Processes): Map<string, number> {
  return new Map([
    ...herald.cpuTime(),
    ...sinks.cpuTime(),
    ['connected devices', statOf(clients.pid)?.seconds ?? 0],
  ])
}
