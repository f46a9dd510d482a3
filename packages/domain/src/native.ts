import { letters } from './letters.ts'
import type { NewBatch, Plan } from './plan.ts'
import { gatherReasons, ownerChanged, type Reason } from './reasons.ts'
import type { Strategy } from './task.ts'

/** What a gateway did for one recipient of a native batch. */
export type NativeAnswer =
  /** Written to its connection, nothing heard yet. */
  | 'written'
  /** Written and acknowledged. */
  | 'acknowledged'
  /** No connection here. */
  | 'unwritten'
  /** The device changed its user since it was planned. */
  | 'left'

/** Rows of the inbox that one write makes. */
export type InboxRows = {
  recipients: number[]
  sent: boolean
  /** Seconds until the next channel gets its turn; null = never. */
  fallbackIn: number | null
}

export type NativeFold = {
  status: string
  sent: number
  moved: number
  expired: number
  acknowledged: number[]
  inbox: InboxRows[]
  fallback: NewBatch[]
  reasons: Reason[]
}

/** How long a device that went to another gateway has to be reached there, when acknowledgements have no time limit. */
const MOVE_SECONDS = 10

/**
 * Turns what a gateway did into one write. `plan` holds the present routes of the unwritten: online elsewhere or nowhere
 * else to go → the inbox, a vendor → moved, no route at all → expired. What was written stays in the inbox until it is
 * acknowledged, but for a message that may not be stored.
 */
export function foldNative(
  batch: { recipients: readonly number[]; status: string },
  answers: ReadonlyMap<number, NativeAnswer>,
  plan: Plan,
  rules: { strategy: Strategy; mayStore: boolean; ackSeconds: number },
): NativeFold {
  const { strategy, ackSeconds } = rules
  const status = batch.status.split('')
  const { note, reasons } = gatherReasons()
  const routes = routesOf(plan)
  const written: number[] = []
  const acknowledged: number[] = []
  const parked: number[] = []
  const boxed: number[] = []
  let [moved, expired] = [0, 0]

  for (const [index, answer] of answers) {
    const device = batch.recipients[index]!
    if (answer === 'written' || answer === 'acknowledged') {
      status[index] = letters.sent
      ;(answer === 'written' ? written : acknowledged).push(device)
      continue
    }
    const route = answer === 'left' ? undefined : routes.get(device)
    if (route === 'native' || route === 'inbox') {
      status[index] = letters.inbox
      ;(route === 'native' ? parked : boxed).push(device)
    } else if (route === 'vendor') {
      status[index] = letters.moved
      moved++
      note('moved', 'the device was no longer connected', device)
    } else {
      status[index] = letters.expired
      expired++
      note('expired', answer === 'left' ? ownerChanged : 'the device was no longer connected', device)
    }
  }

  const combined = strategy === 'combined'
  const inbox: InboxRows[] = [
    {
      recipients: rules.mayStore ? written : [],
      sent: true,
      fallbackIn: combined && ackSeconds > 0 ? ackSeconds : null,
    },
    { recipients: parked, sent: false, fallbackIn: combined ? ackSeconds || MOVE_SECONDS : null },
    { recipients: boxed, sent: false, fallbackIn: null },
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
  }
}

function routesOf(plan: Plan): Map<number, 'native' | 'vendor' | 'inbox'> {
  const routes = new Map<number, 'native' | 'vendor' | 'inbox'>(plan.inbox.map((id) => [id, 'inbox']))
  for (const { channel, recipients } of plan.batches)
    for (const id of recipients) routes.set(id, channel === 'native' ? 'native' : 'vendor')
  return routes
}
