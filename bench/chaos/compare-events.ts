import { publicName, type VendorChannel, vendorChannels } from '@herald/domain'
import { countName, type SinkRecords, sentName } from './event-sink.ts'
import type { HeraldRecords } from './herald-records.ts'
import type { Accepted } from './load.ts'
import { guidOf, tokenOf } from './population.ts'
import { DRILL_CAMPAIGN } from './requests.ts'
import type { VendorLedger } from './vendors.ts'

const counted = ['sent', 'failed', 'expired', 'received', 'clicked'] as const

/**
 * Compares what the server of the application received with Herald's counters, task by task, and with what the vendors accepted. Returns a
 * sentence for each difference.
 */
export function compareEvents(evidence: {
  accepted: readonly Accepted[]
  erased: ReadonlySet<number>
  ledgers: ReadonlyMap<VendorChannel, VendorLedger>
  records: HeraldRecords
  sink: SinkRecords
}): string[] {
  const { accepted, erased, ledgers, records, sink } = evidence
  const wrong: string[] = []
  const left = new Map(sink.counts)
  const take = (name: string) => {
    const count = left.get(name) ?? 0
    left.delete(name)
    return count
  }
  for (const { task, request } of accepted) {
    if (request.campaign !== DRILL_CAMPAIGN) continue
    for (const row of records.counters.get(task) ?? [])
      for (const kind of counted) {
        const name = countName(task, publicName(row.channel), `device.${kind}`)
        const entries = take(name)
        if (entries !== row[kind])
          wrong.push(`events: ${entries} entries ${name}, but ${row[kind]} are counted`)
      }
    const ends = {
      finished: take(countName(task, undefined, 'task.finished')),
      cancelled: take(countName(task, undefined, 'task.cancelled')),
    }
    const state = records.states.get(task)
    const isGood =
      state === 'cancelled'
        ? ends.cancelled === 1 && ends.finished <= 1
        : ends.finished === 1 && ends.cancelled === 0
    if (!isGood) wrong.push(`events: task ${task} is ${state}, its events say ${JSON.stringify(ends)}`)
    for (const channel of vendorChannels) {
      const devices = sink.sent.get(sentName(task, publicName(channel)))
      if (!devices) continue
      const tokens = new Set(ledgers.get(channel)?.tasks[task]?.tokens ?? [])
      for (const n of request.devices)
        if (devices.has(guidOf(n)) && !erased.has(n) && !tokens.has(tokenOf(n, channel)))
          wrong.push(
            `events: ${guidOf(n)} of task ${task} was told as sent, but ${channel} did not accept it`,
          )
    }
  }
  for (const [name, count] of left) wrong.push(`events: ${count} entries ${name} that nothing accounts for`)
  return wrong
}
