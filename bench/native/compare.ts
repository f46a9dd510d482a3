import type { Strategy } from '@herald/domain'
import type { StubEntry } from '@herald/testkit/stub-server'
import { type HeraldRecords, pairName } from '../chaos/herald-records.ts'
import type { SimulatedDevice } from './devices.ts'
import { vendorToken } from './population.ts'

export type SentTask = { id: number; strategy: Strategy }

export type Findings = {
  shown: number
  /** Devices that got a combined push natively and, because they acknowledged late, from the vendor too. */
  twice: number
  /** One sentence per violated guarantee. */
  wrong: string[]
}

/** Compares each device's own log and the vendor's ledger with Herald's records. */
export function compare(
  records: HeraldRecords,
  tasks: readonly SentTask[],
  devices: readonly SimulatedDevice[],
  ledger: readonly StubEntry[],
): Findings {
  const findings: Findings = { shown: 0, twice: 0, wrong: [] }
  const { wrong } = findings
  const accepted = new Map(ledger.map((entry) => [`${entry.task} ${entry.token}`, entry.accepted]))
  for (const { id: task, strategy } of tasks) {
    let [received, sentByVendor] = [0, 0]
    for (const device of devices) {
      const token = vendorToken(device.id)
      const where = `device ${device.id} (${token ?? 'no vendor'}), task ${task} (${strategy})`
      const shown = device.shown.get(task) ?? 0
      const byVendor = accepted.get(`${task} ${token}`) ?? 0
      const receiptAt = records.receipts.get(pairName(task, device.id))
      findings.shown += shown
      if (receiptAt !== undefined) received++
      sentByVendor += byVendor
      if (shown > 1) wrong.push(`${where} was shown ${shown} times`)
      if (byVendor > 1) wrong.push(`${where} was sent ${byVendor} times by its vendor`)
      if (receiptAt !== undefined && shown === 0) wrong.push(`${where} has a receipt but was never shown`)
      if (!device.dead && shown > 0 && receiptAt === undefined)
        wrong.push(`${where} was shown without a receipt`)
      if (strategy === 'ospush_only') {
        if (shown > 0) wrong.push(`${where} came over the native channel`)
        if (byVendor !== Number(token?.endsWith(':accepted') ?? false))
          wrong.push(`${where} was not sent by its vendor`)
        continue
      }
      if (!device.dead && shown === 0 && byVendor === 0) wrong.push(`${where} got nothing`)
      if (strategy === 'nativepush_only' && byVendor > 0) wrong.push(`${where} was sent by a vendor`)
      if (shown > 0 && byVendor > 0) {
        findings.twice++
        const handedOver = records.handedOver.get(pairName(task, device.id)) ?? 0
        if (receiptAt !== undefined && receiptAt < handedOver)
          wrong.push(
            `${where} was given to its vendor ${handedOver - receiptAt} ms after its acknowledgement`,
          )
      }
    }
    const counters = new Map(records.counters.get(task)?.map((row) => [row.channel, row]))
    const native = counters.get('native')
    if ((native?.received ?? 0) !== received)
      wrong.push(`task ${task} counts ${native?.received} received, devices acknowledged ${received}`)
    if ((native?.sent ?? 0) < received) wrong.push(`task ${task} counts fewer sent than received`)
    const vendorSent = counters.get('xiaomi')?.sent
    if ((vendorSent ?? 0) !== sentByVendor)
      wrong.push(`task ${task} counts ${vendorSent} sent, the vendor accepted ${sentByVendor}`)
  }
  return findings
}
