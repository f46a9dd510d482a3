import { type VendorChannel, vendorChannels } from '@herald/domain'
import { type CounterRow, type HeraldRecords, pairName, placeName } from './herald-records.ts'
import type { Accepted } from './load.ts'
import { kindOf, type Population, tokenOf } from './population.ts'
import type { VendorLedger } from './vendors.ts'

export type Evidence = {
  accepted: readonly Accepted[]
  population: Population
  /** Numbers of the devices that were erased during the load: they need not be reached, and have no receipts. */
  erased: ReadonlySet<number>
  ledgers: ReadonlyMap<VendorChannel, VendorLedger>
  /** By `placeName`: pushes that a worker had in flight when it was stopped, so that it may have read a response and not recorded it. */
  unrecorded: ReadonlySet<string>
  /** How often each native device showed each task, by Herald's device id and task. */
  shown: ReadonlyMap<number, ReadonlyMap<number, number>>
  records: HeraldRecords
}

export type Findings = {
  deliveries: number
  /** Second deliveries by vendors, the same or another, and devices that were reached natively and by their vendor. */
  duplicates: number
  /** Pushes that were delivered natively, but acknowledged after they had been given to the vendor. */
  lateAcknowledgements: number
  /** Accepted tasks that did not end, and devices that got nothing. */
  lost: string[]
  /** Counters that differ from what vendors and devices recorded. */
  wrong: string[]
}

/** Compares Herald's records with what vendors accepted and devices showed. */
export function compare(evidence: Evidence): Findings {
  const findings: Findings = { deliveries: 0, duplicates: 0, lateAcknowledgements: 0, lost: [], wrong: [] }
  const known = new Set(evidence.accepted.map(({ task }) => task))
  for (const task of evidence.records.states.keys())
    if (!known.has(task)) findings.wrong.push(`task ${task} exists, but no caller got its id`)
  for (const accepted of evidence.accepted) {
    const tokens = tokensOf(evidence, accepted.task)
    checkEnd(evidence, accepted, findings)
    checkDevices(evidence, accepted, tokens, findings)
    checkCounters(evidence, accepted, tokens, findings)
  }
  return findings
}

/** Tokens that the vendors accepted, and those of them whose response was lost. */
type Tokens = ReadonlyMap<VendorChannel, { accepted: ReadonlySet<string>; unheard: ReadonlySet<string> }>

function tokensOf({ ledgers }: Evidence, task: number): Tokens {
  return new Map(
    vendorChannels.map((channel) => {
      const { tokens = [], unheard = [] } = ledgers.get(channel)?.tasks[task] ?? {}
      return [channel, { accepted: new Set(tokens), unheard: new Set(unheard) }]
    }),
  )
}

/**
 * Returns the channels from which Herald moved the device although their vendor had accepted the push: the response was lost, or the worker
 * that had read it was stopped.
 */
function leftUnheard(
  { population, records, unrecorded }: Evidence,
  task: number,
  tokens: Tokens,
  n: number,
): VendorChannel[] {
  const id = population.ids[n]!
  const left = records.moved.get(pairName(task, id)) ?? []
  return left.filter((channel) => {
    const { accepted, unheard } = tokens.get(channel)!
    const token = tokenOf(n, channel)
    return unheard.has(token) || (accepted.has(token) && unrecorded.has(placeName(task, id, channel)))
  })
}

function checkEnd({ records, erased }: Evidence, { task, request }: Accepted, { lost }: Findings): void {
  const state = records.states.get(task)
  // A task that named only erased devices is cancelled if it was not planned yet.
  const mayBeCancelled = request.followUp === 'cancel' || request.devices.every((n) => erased.has(n))
  const good = state === 'finished' || (mayBeCancelled && state === 'cancelled')
  if (!good) lost.push(`task ${task} (${request.requestId}) is ${state ?? 'unknown'} at the end`)
}

/** Whether all devices of the task must have been reached. */
const mustReachAll = ({ request }: Accepted) => request.followUp !== 'cancel' && request.ttl === undefined

function checkDevices(evidence: Evidence, accepted: Accepted, tokens: Tokens, findings: Findings): void {
  const { population, erased, shown, records } = evidence
  const { task, request } = accepted
  for (const n of request.devices) {
    const { alive, native } = kindOf(n)
    const id = population.ids[n]!
    const where = `device ${id} (number ${n}), task ${task} (${request.strategy})`
    const times = shown.get(id)?.get(task) ?? 0
    const byVendors = alive.filter((channel) => tokens.get(channel)!.accepted.has(tokenOf(n, channel))).length
    findings.deliveries += byVendors + Math.min(times, 1)
    if (times > 1) findings.wrong.push(`${where} was shown ${times} times`)
    if (erased.has(n)) continue
    if (times > 0 && byVendors > 0) {
      findings.duplicates++
      const receiptAt = records.receipts.get(pairName(task, id))
      const handedOver = records.handedOver.get(pairName(task, id)) ?? 0
      if (receiptAt !== undefined && receiptAt < handedOver)
        findings.wrong.push(
          `${where} was given to its vendor ${Math.round(handedOver - receiptAt)} ms after its acknowledgement`,
        )
      // Moved from its vendor to the native channel: the lost response is in the bound, so it is not a late acknowledgement too.
      else if (handedOver > 0 || leftUnheard(evidence, task, tokens, n).length === 0)
        findings.lateAcknowledgements++
    }
    if (byVendors > 1) {
      const explained = leftUnheard(evidence, task, tokens, n).length
      if (explained >= byVendors - 1) findings.duplicates += byVendors - 1
      else
        findings.wrong.push(
          `${where} was sent by ${byVendors} of its vendors, and left ${explained} after a lost response`,
        )
    }
    if (times > 0 && records.receipts.get(pairName(task, id)) === undefined)
      findings.wrong.push(`${where} was shown without a receipt`)
    const isReachable = alive.length > 0 || (native && request.strategy !== 'ospush_only')
    if (mustReachAll(accepted) && isReachable && times === 0 && byVendors === 0)
      findings.lost.push(`${where} got nothing`)
  }
}

function checkCounters(evidence: Evidence, accepted: Accepted, tokens: Tokens, findings: Findings): void {
  const { records, ledgers } = evidence
  const { task, request } = accepted
  const rows = records.counters.get(task) ?? []
  const left = request.devices.flatMap((n) => leftUnheard(evidence, task, tokens, n))
  for (const channel of vendorChannels) {
    const row = rows.find((one) => one.channel === channel)
    const distinct = tokens.get(channel)!.accepted.size
    findings.duplicates += (ledgers.get(channel)?.tasks[task]?.accepted ?? 0) - distinct
    const sent = row?.sent ?? 0
    // A push that the vendor accepted, but whose response was lost before it was moved, expired or was cancelled, is not counted.
    const countable = distinct - left.filter((one) => one === channel).length
    const uncounted = (row?.expired ?? 0) + (row?.cancelled ?? 0)
    if (sent > countable || countable - sent > uncounted)
      findings.wrong.push(`task ${task}: ${channel} accepted ${distinct}, counters ${JSON.stringify(row)}`)
    if ((row?.received ?? 0) > distinct)
      findings.wrong.push(`task ${task}: ${channel} counts more received than accepted`)
  }
  const native = rows.find((row) => row.channel === 'native')
  if (request.strategy === 'ospush_only' && (native?.target ?? 0) > 0)
    findings.wrong.push(`task ${task} is ospush_only, but has targets on the native channel`)
  checkAudience(evidence, accepted, rows, findings)
}

/**
 * Every device of the audience is a target or unreachable, unless it was erased or the task was cancelled before all were
 * planned.
 */
function checkAudience(
  { records, erased }: Evidence,
  { task, request }: Accepted,
  rows: readonly CounterRow[],
  findings: Findings,
): void {
  if (request.strategy !== 'ospush_only' || request.followUp === 'cancel') return
  const targets = rows.reduce((sum, { target, moved }) => sum + target - moved, 0)
  const unreachable = records.unreachable.get(task) ?? 0
  const missing = request.devices.length - targets - unreachable
  if (missing < 0 || missing > request.devices.filter((n) => erased.has(n)).length)
    findings.lost.push(
      `task ${task}: ${request.devices.length} devices, ${targets} targets, ${unreachable} unreachable`,
    )
}

/** Returns the number of pushes that vendors accepted, but whose response was lost. */
export function countUnheard(ledgers: ReadonlyMap<VendorChannel, VendorLedger>): number {
  return [...ledgers.values()].reduce((sum, { unheard }) => sum + unheard, 0)
}
