import { endings } from './endings.ts'
import { letters } from './letters.ts'
import type { NewBatch, Plan } from './plan.ts'
import { ownReasons } from './reason-codes.ts'
import { groupReasons, type ReasonCount, type Why } from './reasons.ts'
import type { Strategy } from './task.ts'

/** What a gateway did for one recipient of a native batch. */
export type NativeResult =
  /** Written to its connection, not acknowledged yet. */
  | 'written'
  /** Written and acknowledged. */
  | 'acknowledged'
  /** The device has no connection to this gateway. */
  | 'unwritten'
  /** The device got another user after it was planned. */
  | 'ownerChanged'
  /** The device was removed after it was planned. */
  | 'removed'
  /** The device was disabled after it was planned. */
  | 'disabled'

/** Inbox rows that one write inserts. */
export type InboxRows = {
  recipients: number[]
  sent: boolean
  /** Seconds until the message falls back to the next channel; null = never. */
  fallbackIn: number | null
  /** The message went to the vendor; the row is no target. */
  isCopy?: true
}

export type NativeFold = {
  status: string
  sent: number
  moved: number
  expired: number
  acknowledged: number[]
  inbox: InboxRows[]
  fallback: NewBatch[]
  reasons: ReasonCount[]
  whys: Why[]
}

/** Time for another gateway to reach a device that moved there, used when acknowledgements have no time limit. */
const MOVE_SECONDS = 10

/**
 * Turns the results of a gateway into one write. `plan` has the current routes of the unwritten recipients: online on another
 * gateway or no other channel → inbox, a vendor → moved, no route → expired. A written message stays in the inbox until it is
 * acknowledged, unless it may not be stored.
 */
export function foldNative(
  batch: { recipients: readonly number[]; status: string },
  results: ReadonlyMap<number, NativeResult>,
  plan: Plan,
  rules: { strategy: Strategy; mayStore: boolean; ackSeconds: number },
): NativeFold {
  const { strategy, ackSeconds } = rules
  const status = batch.status.split('')
  const { note, reasons, whys } = groupReasons()
  const routes = routesOf(plan)
  const written: number[] = []
  const acknowledged: number[] = []
  const onOtherGateway: number[] = []
  const offline: number[] = []
  let [moved, expired] = [0, 0]

  for (const [index, result] of results) {
    const device = batch.recipients[index]!
    if (result === 'written' || result === 'acknowledged') {
      status[index] = letters.sent
      ;(result === 'written' ? written : acknowledged).push(device)
      continue
    }
    const route = result === 'unwritten' ? routes.get(device) : undefined
    if (route === 'native' || route === 'inbox') {
      status[index] = letters.inbox
      ;(route === 'native' ? onOtherGateway : offline).push(device)
    } else if (route === 'vendor') {
      status[index] = letters.moved
      moved++
      note('moved', ownReasons.device_disconnected, device, index)
    } else {
      status[index] = letters.expired
      expired++
      const reason = result === 'unwritten' ? ownReasons.device_disconnected : endings[result][1]
      note('expired', reason, result === 'removed' ? undefined : device, index)
    }
  }

  const combined = strategy === 'combined'
  const inbox: InboxRows[] = [
    {
      recipients: rules.mayStore ? written : [],
      sent: true,
      fallbackIn: combined && ackSeconds > 0 ? ackSeconds : null,
    },
    { recipients: onOtherGateway, sent: false, fallbackIn: combined ? ackSeconds || MOVE_SECONDS : null },
    { recipients: offline, sent: false, fallbackIn: null },
    { recipients: plan.copies ?? [], sent: true, fallbackIn: null, isCopy: true },
  ]
  return {
    status: status.join(''),
    sent: written.length + acknowledged.length,
    moved,
    expired,
    acknowledged,
    inbox: inbox.filter(({ recipients }) => recipients.length > 0),
    fallback: plan.batches.filter(({ channel }) => channel !== 'native'),
    reasons: reasons(),
    whys: whys(),
  }
}

function routesOf(plan: Plan): Map<number, 'native' | 'vendor' | 'inbox'> {
  const routes = new Map<number, 'native' | 'vendor' | 'inbox'>(plan.inbox.map((id) => [id, 'inbox']))
  for (const { channel, recipients } of plan.batches)
    for (const id of recipients) routes.set(id, channel === 'native' ? 'native' : 'vendor')
  return routes
}
