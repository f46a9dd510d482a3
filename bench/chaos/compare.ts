import { type VendorChannel, vendorChannels } from '@herald/domain'
import { type Books, type CounterRow, pairName } from './books.ts'
import type { Accepted } from './load.ts'
import { kindOf, type Population, tokenOf } from './population.ts'
import type { VendorLedger } from './vendors.ts'

export type Evidence = {
  accepted: readonly Accepted[]
  population: Population
  ledgers: ReadonlyMap<VendorChannel, VendorLedger>
  /** What the devices of the flock showed themselves: by Herald's id of the device, then by task, how often. */
  shown: ReadonlyMap<number, ReadonlyMap<number, number>>
  books: Books
}

export type Findings = {
  deliveries: number
  /** Second deliveries by vendors, and devices that got one natively and one by their vendor. */
  duplicates: number
  /** Pushes that the native channel delivered and whose acknowledgement came too late to keep the vendor from it. */
  lateAcknowledgements: number
  /** Tasks and devices that were accepted and are nowhere. */
  lost: string[]
  /** Counters that say something else than vendors and devices do. */
  wrong: string[]
}

/** Holds Herald's books against what vendors accepted and devices showed. Pure. */
export function compare(evidence: Evidence): Findings {
  const findings: Findings = { deliveries: 0, duplicates: 0, lateAcknowledgements: 0, lost: [], wrong: [] }
  const known = new Set(evidence.accepted.map(({ task }) => task))
  for (const task of evidence.books.states.keys())
    if (!known.has(task)) findings.wrong.push(`task ${task} exists though nobody was told of it`)
  for (const accepted of evidence.accepted) {
    const tokens = acceptedTokens(evidence, accepted.task)
    judgeEnd(evidence, accepted, findings)
    judgeDevices(evidence, accepted, tokens, findings)
    judgeCounters(evidence, accepted, tokens, findings)
  }
  return findings
}

type Tokens = ReadonlyMap<VendorChannel, ReadonlySet<string>>

function acceptedTokens({ ledgers }: Evidence, task: number): Tokens {
  return new Map(
    vendorChannels.map((channel) => [channel, new Set(ledgers.get(channel)?.tasks[task]?.tokens ?? [])]),
  )
}

function judgeEnd({ books }: Evidence, { task, order }: Accepted, { lost }: Findings): void {
  const state = books.states.get(task)
  const good = state === 'finished' || (order.turn === 'cancel' && state === 'cancelled')
  if (!good) lost.push(`task ${task} (${order.requestId}) is ${state ?? 'unknown'} at the end`)
}

/** Tasks whose devices must all have been reached. */
const isWhole = ({ order }: Accepted) => order.turn !== 'cancel' && order.ttl === undefined

function judgeDevices(evidence: Evidence, accepted: Accepted, tokens: Tokens, findings: Findings): void {
  const { population, shown, books } = evidence
  const { task, order } = accepted
  for (const n of order.devices) {
    const { alive, flock } = kindOf(n)
    const id = population.ids[n]!
    const where = `device ${id} (number ${n}), task ${task} (${order.strategy})`
    const times = shown.get(id)?.get(task) ?? 0
    const byVendors = alive.filter((channel) => tokens.get(channel)!.has(tokenOf(n, channel))).length
    findings.deliveries += byVendors + Math.min(times, 1)
    if (times > 1) findings.wrong.push(`${where} was shown ${times} times`)
    if (times > 0 && byVendors > 0) {
      findings.duplicates++
      const receiptAt = books.receipts.get(pairName(task, id))
      const handedOver = books.handedOver.get(pairName(task, id)) ?? 0
      if (receiptAt !== undefined && receiptAt < handedOver)
        findings.wrong.push(
          `${where} went to its vendor ${Math.round(handedOver - receiptAt)} ms after it had acknowledged`,
        )
      else findings.lateAcknowledgements++
    } else if (byVendors > 1) findings.wrong.push(`${where} was sent by ${byVendors} of its vendors`)
    if (times > 0 && books.receipts.get(pairName(task, id)) === undefined)
      findings.wrong.push(`${where} was shown without a receipt`)
    const mustReach = order.strategy === 'ospush_only' ? alive.length > 0 : alive.length > 0 || flock
    if (isWhole(accepted) && mustReach && times === 0 && byVendors === 0)
      findings.lost.push(`${where} got nothing`)
  }
}

function judgeCounters(evidence: Evidence, accepted: Accepted, tokens: Tokens, findings: Findings): void {
  const { books, ledgers } = evidence
  const { task, order } = accepted
  const rows = books.counters.get(task) ?? []
  for (const channel of vendorChannels) {
    const row = rows.find((one) => one.channel === channel)
    const distinct = tokens.get(channel)!.size
    const page = ledgers.get(channel)?.tasks[task]
    findings.duplicates += (page?.accepted ?? 0) - distinct
    const sent = row?.sent ?? 0
    // A vendor that accepted and was not heard, and then time, patience or need ran out: it has one that is not counted.
    const unheard = (row?.expired ?? 0) + (row?.cancelled ?? 0)
    if (sent > distinct || distinct - sent > unheard)
      findings.wrong.push(`task ${task}: ${channel} accepted ${distinct}, counted are ${JSON.stringify(row)}`)
    if ((row?.received ?? 0) > distinct)
      findings.wrong.push(`task ${task}: ${channel} counts more received than it accepted`)
  }
  const native = rows.find((row) => row.channel === 'native')
  if (order.strategy === 'ospush_only' && (native?.target ?? 0) > 0)
    findings.wrong.push(`task ${task} for vendors alone has targets on the native channel`)
  judgeAudience(books, accepted, rows, findings)
}

/** Every device of the audience is a target somewhere or counted as unreachable; a cancelled task may not have planned all. */
function judgeAudience(
  books: Books,
  { task, order }: Accepted,
  rows: readonly CounterRow[],
  findings: Findings,
): void {
  if (order.strategy !== 'ospush_only' || order.turn === 'cancel') return
  const placed = rows.reduce((sum, { target, moved }) => sum + target - moved, 0)
  const unreachable = books.unreachable.get(task) ?? 0
  if (placed + unreachable !== order.devices.length)
    findings.lost.push(
      `task ${task}: ${order.devices.length} devices, ${placed} targets, ${unreachable} unreachable`,
    )
}

/** What vendors accepted without being heard, over all channels. */
export function unheardOf(ledgers: ReadonlyMap<VendorChannel, VendorLedger>): number {
  return [...ledgers.values()].reduce((sum, { unheard }) => sum + unheard, 0)
}
