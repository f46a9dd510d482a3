import { saveWebhook } from '@herald/db/events'
import { newWebhookSecret } from '@herald/outbound'
import { until } from '@herald/testkit'
import { startChild } from '../child.ts'
import { cpuPerItem, type Metrics, rounded } from '../metric.ts'
import { addIosDevices, startDeployment } from './deployment.ts'
import type { EventCounts } from './event-sink-process.ts'

const PER_EVENT = 1000

/** Events of a broadcast, from the outbox to the server of an application on the same machine, by one courier to one webhook. */
export async function measureWebhooks(devices: number): Promise<Metrics> {
  const herald = await startDeployment({
    queue: 'postgres',
    workers: ['courier'],
    env: { HERALD_WEBHOOK_PRIVATE: 'on' },
  })
  const sink = await startChild<{ secret?: string }, EventCounts, { port: number }>(
    new URL('./event-sink-process.ts', import.meta.url),
  )
  try {
    await addIosDevices(herald.db, herald.appId, devices)
    const url = `http://127.0.0.1:${sink.ready.port}/`
    const secret = newWebhookSecret()
    await sink.ask({ secret })
    const webhook = { name: 'bench', url, events: ['device.sent'], newSecret: secret }
    await saveWebhook(herald.db, herald.sealer, herald.appId, webhook, { actor: 'bench' })
    const before = herald.cpuTime()
    await herald.db.pool.query(
      `INSERT INTO outbox (app_id, kind, task_id, campaign, channel, devices)
       SELECT $1, 'device.sent', 123456789012345, 'spring', 'apns', array_agg(id ORDER BY id)
       FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM device WHERE app_id = $1) d GROUP BY n / ${PER_EVENT} ORDER BY n / ${PER_EVENT}`,
      [herald.appId],
    )
    const counts = await until(
      async () => {
        const now = await sink.ask({})
        return now.entries >= devices && now
      },
      { seconds: 300, everyMs: 100, what: 'all entries' },
    )
    const cpu = cpuPerItem(before, herald.cpuTime(), devices)
    if (counts.entries !== devices) throw new Error(`${counts.entries} entries of ${devices} events`)
    const perRequest = counts.entries / counts.requests
    return {
      webhook_events_per_s: {
        value: rounded(((devices - perRequest) / (counts.last - counts.first)) * 1000),
        unit: 'events/s',
        note: `${devices.toLocaleString('en')} events of devices from the outbox to one webhook on the same machine, ${rounded(perRequest)} entries per request, ${rounded(counts.bytes / counts.entries)} bytes each; ${cpu}`,
      },
    }
  } finally {
    await sink.stop()
    await herald.stop()
  }
}
