import type { StubEntry } from '@herald/channels'
import type { Database } from '@herald/db/store'
import type { Strategy } from '@herald/domain'
import type { FlockDevice } from './flock.ts'
import { vendorToken } from './population.ts'

export type SentTask = { id: number; strategy: Strategy }

export type Findings = {
  shown: number
  /** Devices that got a combined push by the native channel and, for want of a timely acknowledgement, by the vendor too. */
  twice: number
  /** One sentence for everything that is not as promised. */
  wrong: string[]
}

/** Holds each device's own log and the vendor's ledger against the counters. */
export async function compare(
  db: Database,
  tasks: readonly SentTask[],
  devices: readonly FlockDevice[],
  ledger: readonly StubEntry[],
): Promise<Findings> {
  const findings: Findings = { shown: 0, twice: 0, wrong: [] }
  const { wrong } = findings
  const accepted = new Map(ledger.map((entry) => [`${entry.task} ${entry.token}`, entry.accepted]))
  for (const { id: task, strategy } of tasks) {
    const receipts = await nativeReceipts(db, task)
    const vendorBatches = await vendorTimes(db, task)
    let [received, sentByVendor] = [0, 0]
    for (const device of devices) {
      const where = `device ${device.id} (${vendorToken(device.id) ?? 'no vendor'}), task ${task} (${strategy})`
      const shown = device.shown.get(task) ?? 0
      const byVendor = accepted.get(`${task} ${vendorToken(device.id)}`) ?? 0
      const receiptAt = receipts.get(device.id)
      findings.shown += shown
      if (receiptAt !== undefined) received++
      sentByVendor += byVendor
      if (shown > 1) wrong.push(`${where} was shown ${shown} times`)
      if (byVendor > 1) wrong.push(`${where} was sent ${byVendor} times by its vendor`)
      if (receiptAt !== undefined && shown === 0) wrong.push(`${where} has a receipt and was never shown`)
      if (!device.dead && shown > 0 && receiptAt === undefined)
        wrong.push(`${where} was shown without a receipt`)
      if (strategy === 'ospush_only') {
        if (shown > 0) wrong.push(`${where} came over the native channel`)
        if (byVendor !== Number(vendorToken(device.id)?.endsWith(':accepted') ?? false))
          wrong.push(`${where} was not handed to its vendor`)
        continue
      }
      if (!device.dead && shown === 0 && byVendor === 0) wrong.push(`${where} got nothing`)
      if (strategy === 'nativepush_only' && byVendor > 0) wrong.push(`${where} went to a vendor`)
      if (shown > 0 && byVendor > 0) {
        findings.twice++
        const handedOver = vendorBatches.get(device.id) ?? 0
        if (receiptAt !== undefined && receiptAt < handedOver)
          wrong.push(`${where} went to its vendor ${handedOver - receiptAt} ms after it had acknowledged`)
      }
    }
    const { rows } = await db.pool.query<{ channel: string; sent: number; received: number; target: number }>(
      'SELECT channel, sent, received, target FROM counter WHERE task_id = $1',
      [task],
    )
    const counters = new Map(rows.map((row) => [row.channel, row]))
    const native = counters.get('native')
    if ((native?.received ?? 0) !== received)
      wrong.push(`task ${task} counts ${native?.received} received, devices acknowledged ${received}`)
    if ((native?.sent ?? 0) < received) wrong.push(`task ${task} counts fewer sent than received`)
    if ((counters.get('xiaomi')?.sent ?? 0) !== sentByVendor)
      wrong.push(
        `task ${task} counts ${counters.get('xiaomi')?.sent} sent, the vendor accepted ${sentByVendor}`,
      )
  }
  return findings
}

/** When each device's native receipt was recorded, in Unix ms. */
async function nativeReceipts(db: Database, task: number): Promise<Map<number, number>> {
  const { rows } = await db.pool.query<{ id: number; at: number }>(
    `SELECT device_id AS id, (extract(epoch FROM received_at) * 1000)::float8 AS at FROM receipt
     WHERE task_id = $1 AND channel = 'native'`,
    [task],
  )
  return new Map(rows.map(({ id, at }) => [id, at]))
}

/** When a recipient was last given to the vendor after the native channel, in Unix ms. */
async function vendorTimes(db: Database, task: number): Promise<Map<number, number>> {
  const { rows } = await db.pool.query<{ id: number; at: number }>(
    `SELECT r.id, max(extract(epoch FROM b.planned_at) * 1000)::float8 AS at
     FROM batch b CROSS JOIN LATERAL unnest(b.recipients) AS r (id)
     WHERE b.task_id = $1 AND b.channel = 'xiaomi' AND 'native' = ANY(b.tried) GROUP BY 1`,
    [task],
  )
  return new Map(rows.map(({ id, at }) => [id, at]))
}
