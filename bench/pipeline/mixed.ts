import { setTimeout as sleep } from 'node:timers/promises'
import { type Channel, channels, vendorChannels } from '@herald/domain'
import { freePort } from '@herald/testkit'
import { costOfEach, type Metrics, rounded } from '../metric.ts'
import { type Fleet, startFleet, untilJoined } from '../native/run.ts'
import { statOf } from '../process-figures.ts'
import { addMixedDevices, addVendorCertificates } from './mixed-devices.ts'
import { openStage, type Stage, unlimited, waitUntilSent } from './stage.ts'
import { startVendorSinks, type VendorSinks } from './vendor-sinks.ts'

const MOST_CONNECTIONS = 10_000
const PATIENCE_MS = 60_000

const message = { title: 'Sale', body: 'Everything must go', badge: '+1' }

type Cast = { stage: Stage; sinks: VendorSinks; fleet: Fleet }

/**
 * One broadcast over all nine channels, from the request to the last commit and the last acknowledgement. Throws when a
 * counter is not exact, or when vendors and connected devices saw other devices than it says.
 */
export async function measureMixed(devices: number, small: number): Promise<Metrics> {
  const native = Math.min(MOST_CONNECTIONS, Math.floor(devices / 100))
  const port = await freePort()
  const sinks = await startVendorSinks()
  const fleet = startFleet()
  const stage = await openStage({
    queue: 'redis',
    workers: channels.map((channel) => `worker-${channel}`),
    env: { ...sinks.env, HERALD_GATEWAY_PORT: String(port) },
  })
  try {
    const cast = { stage, sinks, fleet }
    await addVendorCertificates(stage.db, stage.sealer, stage.appId, unlimited)
    const tokens = await addMixedDevices(stage.db, stage.appId, { devices, native, few: small })
    await untilJoined(stage.db)
    await fleet.ask({ ask: 'connect', url: `ws://127.0.0.1:${port}/native`, tokens })
    // Connections, prepared statements and the JIT are warm in any process that has run for a minute.
    await broadcast(cast, { tag: ['few'] })
    const { rate, cost, memory } = await broadcast(cast, 'all')
    const [largest = ['', 0]] = [...memory].filter(([name]) => name !== 'api').sort(([, a], [, b]) => b - a)
    const each = Math.floor((devices - native) / vendorChannels.length)
    return {
      broadcast_mixed_devices_per_s: {
        value: rounded(rate),
        unit: 'devices/s',
        note: `${devices.toLocaleString('en')} devices: ${each.toLocaleString('en')} on each of ${vendorChannels.length} vendors, ${native.toLocaleString('en')} connected ones, all of which acknowledged; badge +1, combined, redis queue, notify to last commit, rate limits lifted, distinct devices at every sink equal its target; highest memory: ${largest[0]} with ${rounded(largest[1])} MB; ${cost}`,
      },
    }
  } finally {
    await stage.stop()
    fleet.stop()
    sinks.stop()
  }
}

async function broadcast(cast: Cast, audience: 'all' | { tag: string[] }) {
  const { stage, sinks } = cast
  const expected = await expectedTargets(stage, audience !== 'all')
  const count = [...expected.values()].reduce((sum, target) => sum + target, 0)
  await sinks.takeCounts()
  const time = processorTime(cast)
  const started = performance.now()
  const setting = { distribution_strategy: 'combined' }
  const task = await stage.notify({ audience, setting, message })
  const memory = await waitUntilSent(stage, task, count)
  await untilAcknowledged(stage, task, expected.get('native') ?? 0)
  const rate = (count / (performance.now() - started)) * 1000
  const cost = costOfEach(time, processorTime(cast), count)
  await checkEverybody(cast, task, expected)
  return { rate, cost, memory }
}

/** How many devices each channel has to reach, from what the devices have. */
async function expectedTargets(stage: Stage, few: boolean): Promise<Map<Channel, number>> {
  const { rows } = await stage.db.pool.query<{ channel: Channel; count: number }>(
    `SELECT coalesce(channel, 'native') AS channel, count(*)::int AS count
     FROM device LEFT JOIN binding ON binding.device_id = device.id
     WHERE device.app_id = $1 AND (NOT $2 OR device.id IN (SELECT device_id FROM device_tag))
     GROUP BY 1`,
    [stage.appId, few],
  )
  return new Map(rows.map(({ channel, count }) => [channel, count]))
}

async function untilAcknowledged(stage: Stage, task: number, count: number): Promise<void> {
  let progress = { received: 0, at: Date.now() }
  for (;;) {
    const { rows } = await stage.db.pool.query<{ received: number }>(
      `SELECT coalesce(sum(received), 0)::int AS received FROM counter WHERE task_id = $1 AND channel = 'native'`,
      [task],
    )
    const { received } = rows[0]!
    if (received >= count) return
    if (received > progress.received) progress = { received, at: Date.now() }
    if (Date.now() - progress.at > PATIENCE_MS)
      throw new Error(`acknowledgements of task ${task} stand still at ${received} of ${count}`)
    await sleep(20)
  }
}

/** Holds the counters against what the devices have, and vendors and connected devices against the counters. */
async function checkEverybody(
  { stage, sinks, fleet }: Cast,
  task: number,
  expected: Map<Channel, number>,
): Promise<void> {
  const { rows } = await stage.db.pool.query<{
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
  const { received } = await fleet.ask({ ask: 'received', task })
  for (const channel of channels) {
    const count = expected.get(channel) ?? 0
    const { target = 0, sent = 0, lost = 0 } = counters.get(channel) ?? {}
    if (target !== count || sent !== count || lost !== 0)
      throw new Error(`${channel} has ${count} devices, ${target} targets, ${sent} sent and ${lost} not sent`)
    const { requests, distinct } =
      channel === 'native' ? { requests: received, distinct: received } : (seen[channel] ?? nobody)
    if (requests !== count || distinct !== count)
      throw new Error(`${channel} saw ${requests} pushes, ${distinct} distinct, instead of ${count}`)
  }
}

const nobody = { requests: 0, distinct: 0 }

function processorTime({ stage, sinks, fleet }: Cast): Map<string, number> {
  return new Map([
    ...stage.processorTime(),
    ...sinks.processorTime(),
    ['connected devices', statOf(fleet.pid)?.seconds ?? 0],
  ])
}
