import { type Channel, letters, ownReasons, publicName, type Reason } from '@herald/domain'

/** An entry of `batch.whys` that applies to a place. Without `p` it is about all places with its fate that no other entry names. */
export type Why = { f: string; c: string; t: string; p?: unknown }

/** Times in Unix ms. */
export type Place =
  /** A recipient of a batch, or the task of a bundle, with its letter. */
  | {
      kind: 'batch' | 'bundle'
      id: number
      channel: Channel
      letter: string
      state: string
      /** The last settle that changed a letter; null in rows of the previous release. */
      at: number | null
      /** Infinity: when the certificate can be used again. */
      notBefore: number | null
      /** The native channel was tried before. */
      afterNative: boolean
      whys: readonly Why[]
    }
  /** A message that left the inbox without a receipt. */
  | { kind: 'record'; letter: string; at: number | null; whys: readonly Why[] }
  /** A message in the inbox, without copies. */
  | { kind: 'inbox'; plannedAt: number; sentAt: number | null; fallbackAt: number | null }
  | { kind: 'receipt'; channel: Channel; receivedAt: number; clickedAt: number | null }

export type Fate = 'pending' | 'sent' | 'failed' | 'moved' | 'expired' | 'cancelled'

export type PathStep = {
  /** The public name of the channel. */
  channel: string
  fate: Fate
  code: string | null
  reason: string | null
  /** When the fate was recorded, Unix ms; null while it is pending, and where it is not known. */
  at: number | null
  /** When a pending message is tried again, Unix ms; null if that depends on the vendor, the device or the operator. */
  nextAt: number | null
}

export type DevicePath = {
  path: PathStep[]
  receivedAt: number | null
  clickedAt: number | null
}

export type TaskFacts = { paused: boolean }

/** The fate of a recipient, by its letter. */
export const fates: Record<string, Fate> = {
  [letters.pending]: 'pending',
  [letters.sent]: 'sent',
  [letters.failed]: 'failed',
  [letters.moved]: 'moved',
  [letters.expired]: 'expired',
  [letters.cancelled]: 'cancelled',
}

type BatchPlace = Extract<Place, { kind: 'batch' | 'bundle' }>
const isBatch = (place: Place): place is BatchPlace => place.kind === 'batch' || place.kind === 'bundle'
type Ordered = { order: number; step: PathStep }

/**
 * The result of a message on one device, by channel, in the order in which the channels were tried. `places` are all places of the device
 * in the task; a device has at most one per channel, because no channel is tried twice.
 */
export function foldPath(places: readonly Place[], task: TaskFacts): DevicePath {
  const receipt = places.find((place) => place.kind === 'receipt')
  const batches = places.filter(isBatch)
  const steps: Ordered[] = batches
    .filter(({ channel }) => channel !== 'native')
    .map((place) => ({ order: place.id, step: vendorStep(place, task) }))
  const native = nativeStep(places, receipt, task)
  if (native) {
    const batch = batches.find(({ channel }) => channel === 'native')
    // Without a batch the message went to the inbox: at once, or after the vendors.
    const next = batches.filter(({ afterNative }) => afterNative).map(({ id }) => id - 0.5)
    steps.push({ order: batch?.id ?? Math.min(...next, Number.MAX_VALUE), step: native })
  }
  steps.sort((a, b) => a.order - b.order)
  return {
    path: steps.map(({ step }) => step),
    receivedAt: receipt?.receivedAt ?? null,
    clickedAt: receipt?.clickedAt ?? null,
  }
}

function vendorStep(place: BatchPlace, task: TaskFacts): PathStep {
  const fate = fates[place.letter] ?? 'pending'
  if (fate === 'pending') return pendingStep(place, task)
  return ended(place.channel, fate, place.at, whyOf(place.whys, fate))
}

function pendingStep(place: BatchPlace, task: TaskFacts): PathStep {
  const reason = waitingReason(place.state, task, whyOf(place.whys, 'pending'))
  const nextAt = place.state === 'ready' || place.state === 'paced' ? place.notBefore : null
  return {
    channel: publicName(place.channel),
    fate: 'pending',
    code: reason.code,
    reason: reason.text,
    at: null,
    nextAt: nextAt === Number.POSITIVE_INFINITY ? null : nextAt,
  }
}

/** Why a recipient of a batch in this state waits; `last` is the reason of the last attempt. */
export function waitingReason(state: string, task: TaskFacts, last: Reason | undefined): Reason {
  if (task.paused || state === 'held') return ownReasons.task_paused
  if (state === 'sending' || state === 'awaiting_ack') return ownReasons.being_sent
  if (last) return last
  return state === 'paced' ? ownReasons.speed_limited : ownReasons.waiting_for_turn
}

/**
 * A native message ends in its batch, or goes to the inbox. From there on the row in the inbox tells, then the record of why it left, then
 * the receipt; without all of them it was sent: a vendor that accepted the message removed it from the inbox.
 */
function nativeStep(
  places: readonly Place[],
  receipt: Extract<Place, { kind: 'receipt' }> | undefined,
  task: TaskFacts,
): PathStep | undefined {
  const batch = places.filter(isBatch).find(({ channel }) => channel === 'native')
  const inbox = places.find((place) => place.kind === 'inbox')
  const record = places.find((place) => place.kind === 'record')
  const received = receipt?.channel === 'native' ? receipt : undefined
  if (!batch && !inbox && !record && !received) return undefined
  if (batch && batch.letter !== letters.inbox) {
    const fate = fates[batch.letter] ?? 'pending'
    if (fate === 'pending') return pendingStep(batch, task)
    // Counted as moved because its gateway ended, but it had arrived: the counter was corrected.
    if (fate === 'moved' && received) return ended('native', 'sent', received.receivedAt)
    return ended('native', fate, batch.at, whyOf(batch.whys, fate))
  }
  if (inbox) {
    if (inbox.sentAt !== null) return ended('native', 'sent', inbox.sentAt)
    const reason = task.paused ? ownReasons.task_paused : ownReasons.offline_to_inbox
    return {
      channel: publicName('native'),
      fate: 'pending',
      code: reason.code,
      reason: reason.text,
      at: null,
      nextAt: inbox.fallbackAt,
    }
  }
  if (record) {
    const fate = fates[record.letter] ?? 'sent'
    if (fate === 'moved' && received) return ended('native', 'sent', received.receivedAt)
    return ended('native', fate, record.at, whyOf(record.whys, fate))
  }
  return ended('native', 'sent', received?.receivedAt ?? null)
}

function ended(channel: Channel, fate: Fate, at: number | null, why?: Reason): PathStep {
  return {
    channel: publicName(channel),
    fate,
    code: why?.code ?? null,
    reason: why?.text ?? null,
    at,
    nextAt: null,
  }
}

/** The last reason of this fate. */
export function whyOf(whys: readonly Why[], fate: string): Reason | undefined {
  const of = whys.filter(({ f }) => f === fate)
  const why = of.findLast(({ p }) => p !== undefined) ?? of.at(-1)
  return why && { code: why.c, text: why.t }
}

/** The step that is the result of the message: the channel that it was received on, or sent by, otherwise the last one. */
export function resultOf(path: readonly PathStep[]): PathStep | undefined {
  return (
    path.findLast(({ fate }) => fate === 'sent') ??
    path.findLast(({ fate }) => fate === 'pending') ??
    path.at(-1)
  )
}
