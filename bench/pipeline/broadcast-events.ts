import { startSink } from '../http2/start-sink.ts'
import { type Metrics, percentile, rounded } from '../metric.ts'
import { broadcast } from './broadcast.ts'
import { addApnsCertificate, addIosDevices, startDeployment } from './deployment.ts'

const ROUNDS = 3

/** What events of each device add to a broadcast: the same broadcast without and with them, by turns, no courier on the machine. */
export async function measureBroadcastEvents(devices: number): Promise<Metrics> {
  const sink = await startSink()
  const herald = await startDeployment({
    queue: 'redis',
    workers: ['worker-apns'],
    env: { HERALD_APNS_URL: sink.url },
  })
  try {
    await addApnsCertificate(herald)
    await addIosDevices(herald.db, herald.appId, devices)
    await broadcast(herald, 'all', devices)
    const plain: Round[] = []
    const told: Round[] = []
    for (let round = 0; round < ROUNDS; round++) {
      plain.push(await broadcast(herald, 'all', devices))
      told.push(await broadcast(herald, 'all', devices, { events: true }))
    }
    const expected = ROUNDS * devices
    const { rows } = await herald.db.pool.query(
      `SELECT coalesce(sum(cardinality(devices)), 0)::int AS entries FROM outbox WHERE kind = 'device.sent'`,
    )
    if (rows[0].entries !== expected)
      throw new Error(`the outbox has ${rows[0].entries} entries instead of ${expected}`)
    const [before, after] = [median(plain), median(told)]
    return {
      broadcast_events_cpu_ratio: {
        value: rounded(after.cpu / before.cpu),
        unit: 'times',
        note: `${after.cpu} against ${before.cpu} µs per device; ${devices.toLocaleString('en')} iOS devices, badge +1, Redis queue, medians of ${ROUNDS} broadcasts each, by turns; no courier on the machine; with events: ${after.cost}`,
      },
      broadcast_events_rate_ratio: {
        value: rounded(after.rate / before.rate),
        unit: 'times',
        note: `${rounded(after.rate)} against ${rounded(before.rate)} devices/s, of the same broadcasts`,
      },
    }
  } finally {
    await herald.stop()
    await sink.stop()
  }
}

type Round = { rate: number; cpu: number; cost: string }

function median(rounds: Round[]): Round {
  const cpu = percentile(
    rounds.map((round) => round.cpu),
    0.5,
  )
  const rate = percentile(
    rounds.map((round) => round.rate),
    0.5,
  )
  const cost = rounds.find((round) => round.cpu === cpu)?.cost ?? ''
  return { rate, cpu, cost }
}
