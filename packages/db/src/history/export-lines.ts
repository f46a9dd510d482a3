import { type Channel, publicName, type Reason } from '@herald/domain'
import { separator } from '../store/text-columns.ts'
import { type Fate, fates, type PathStep, type TaskFacts, type Why, waitingReason, whyOf } from './path.ts'

/** A batch of a vendor with what its lines need; lists are one text in the order of the recipients. */
export type BatchLines = {
  channel: Channel
  state: string
  status: string
  /** Unix ms. */
  at: number | null
  whys: readonly (Why & { p?: number[] })[]
  /** An array literal. */
  recipients: string
  guids: string
  users: string
  aliases: string
  /** `place,received,clicked;…`, places from 1, times in Unix seconds. */
  receipts: string | null
}

export const counted = [
  'target',
  'sent',
  'failed',
  'moved',
  'expired',
  'cancelled',
  'pending',
  'received',
  'clicked',
] as const
export type Sums = Record<(typeof counted)[number], number>
/** By public channel name. */
export type ChannelSums = Record<string, Sums>

export function sumsOf(all: ChannelSums, channel: string): Sums {
  all[channel] ??= Object.fromEntries(counted.map((name) => [name, 0])) as Sums
  return all[channel]
}

const seconds = (ms: number) => Math.floor(ms / 1000)

/** A line from the channel on to before the receipt. */
function middle(channel: string, fate: Fate, at: number | null, reason: Reason | undefined): string {
  const [code, text] = reason ? [JSON.stringify(reason.code), JSON.stringify(reason.text)] : ['null', 'null']
  return `,"channel":"${channel}","fate":"${fate}","code":${code},"reason":${text},"at":${at === null ? 'null' : seconds(at)}`
}

const noReceipt = ',"received_at":null,"clicked_at":null}\n'

/** The lines of a batch; adds them to `sums`. Most recipients of a batch differ only in their names, so the rest is made once. */
export function linesOfBatch(batch: BatchLines, task: TaskFacts, sums: ChannelSums): string {
  const channel = publicName(batch.channel)
  const sum = sumsOf(sums, channel)
  const ids = batch.recipients.slice(1, -1).split(',')
  const nameOf = quoted(batch.guids, ids.length)
  const aliasOf = quoted(batch.aliases, ids.length)
  const users = batch.users.split(separator)
  const receipts = receiptsOf(batch.receipts)
  const middles = new Map<string, string>()
  const reasons = reasonsByPlace(batch)
  const middleAt = (place: number, letter: string): string => {
    const fate = fates[letter] ?? 'pending'
    const named = reasons.get(place)
    if (named && named.fate === fate) return middleOf(fate, named.reason)
    const known = middles.get(letter)
    if (known !== undefined) return known
    const made = middleOf(
      fate,
      whyOf(
        batch.whys.filter(({ p }) => p === undefined),
        fate,
      ),
    )
    middles.set(letter, made)
    return made
  }
  const middleOf = (fate: Fate, why: Reason | undefined) =>
    fate === 'pending'
      ? middle(channel, fate, null, waitingReason(batch.state, task, why))
      : middle(channel, fate, batch.at, why)
  let lines = ''
  for (let place = 0; place < ids.length; place++) {
    const letter = batch.status[place]!
    sum[fates[letter] ?? 'pending']++
    const receipt = receipts?.get(place)
    if (receipt) {
      sum.received++
      if (receipt.isClicked) sum.clicked++
    }
    const user = users[place]
    lines += `{"device_id":${ids[place]},"device_guid":${nameOf(place)},"user_id":${user || 'null'},"alias":${aliasOf(place)}${middleAt(place, letter)}${receipt?.text ?? noReceipt}`
  }
  sum.target += ids.length
  return lines
}

type Step = Pick<PathStep, 'channel' | 'fate' | 'code' | 'reason' | 'at'>

/** The line of one device. */
export function lineOf(
  device: { deviceId: number; guid: string | null; userId: string | null; alias: string | null },
  step: Step,
  receipt: { receivedAt: number | null; clickedAt: number | null },
  sums: ChannelSums,
): string {
  const sum = sumsOf(sums, step.channel)
  sum.target++
  sum[step.fate]++
  if (receipt.receivedAt !== null) sum.received++
  if (receipt.clickedAt !== null) sum.clicked++
  const reason = step.code === null ? undefined : { code: step.code, text: step.reason ?? '' }
  const time = (ms: number | null) => (ms === null ? 'null' : seconds(ms))
  return `{"device_id":${device.deviceId},"device_guid":${JSON.stringify(device.guid)},"user_id":${device.userId ?? 'null'},"alias":${JSON.stringify(device.alias)}${middle(step.channel, step.fate, step.at, reason)},"received_at":${time(receipt.receivedAt)},"clicked_at":${time(receipt.clickedAt)}}\n`
}

/** The texts of a list as JSON; empty ones are null. */
function quoted(list: string, count: number): (place: number) => string {
  const texts = list.split(separator)
  if (texts.length !== count) throw new Error('a name contains the column separator')
  const isPlain = !/["\\]/.test(list)
  return (place) => {
    const text = texts[place]!
    return text === '' ? 'null' : isPlain ? `"${text}"` : JSON.stringify(text)
  }
}

function receiptsOf(list: string | null): Map<number, { text: string; isClicked: boolean }> | undefined {
  if (list === null) return undefined
  return new Map(
    list.split(';').map((entry) => {
      const [place, received, clicked] = entry.split(',')
      const text = `,"received_at":${received},"clicked_at":${clicked || 'null'}}\n`
      return [Number(place) - 1, { text, isClicked: Boolean(clicked) }]
    }),
  )
}

function reasonsByPlace({
  whys,
  status,
}: Pick<BatchLines, 'whys' | 'status'>): Map<number, { fate: Fate; reason: Reason }> {
  const reasons = new Map<number, { fate: Fate; reason: Reason }>()
  for (const { f, c, t, p } of whys)
    for (const place of p ?? [])
      if ((fates[status[place]!] ?? 'pending') === f)
        reasons.set(place, { fate: f as Fate, reason: { code: c, text: t } })
  return reasons
}
