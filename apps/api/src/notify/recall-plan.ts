import type { RecallableTask } from '@herald/db/tasks'
import { asSentence, type Channel, cardOf, type Message, publicName, withReplaceKeysOf } from '@herald/domain'
import { type ApplicationCertificates, payloadOf } from '@herald/plan'

/** What a recall does on one channel. */
export type ChannelRecall = {
  channel: string
  /** Devices that the task was sent to so far; with a withdrawal also those whose message waits in the inbox. */
  devices: number
  can: 'withdraw' | 'replace' | 'none'
  does: 'withdraw' | 'replace' | 'none'
  /** Why it does nothing there, or not for all. */
  reason?: string
}

/** The stored message of a withdrawal: without texts, which nobody needs any more. */
export function withdrawalOf({ taskId, message }: RecallableTask): Message {
  const { title, body, bigText, ext, attachmentUrl, url, showBegin, showEnd, ...rest } = message
  return { ...rest, badge: noBadge, recall: { taskId, withdraw: true } }
}

/** The stored message of a replacement: it has the replace key of the first task, and does not add to the badge again. */
export function replacementOf({ taskId, message: first }: RecallableTask, message: Message): Message {
  return {
    ...withReplaceKeysOf(first, message),
    badge: message.badgeNamed ? message.badge : noBadge,
    recall: { taskId },
  }
}

const noBadge: Message['badge'] = { kind: 'add', count: 0 }

/** Decides what a recall does on each channel that the task was sent through. Pure. */
export function recallPlan(
  first: RecallableTask,
  message: Message,
  certificates: ApplicationCertificates,
): ChannelRecall[] {
  const wanted = message.recall?.withdraw ? 'withdraw' : 'replace'
  // What waits is cancelled. That withdraws it, but puts nothing in its place.
  const reached = first.sent.map((one) => ({
    ...one,
    devices: one.devices + (wanted === 'withdraw' ? one.waiting : 0),
  }))
  const channels = reached.filter(({ devices }) => devices > 0)
  return channels.map(({ channel, devices, certificateIds }): ChannelRecall => {
    const can = canOn(channel, first.message)
    const about = { channel: publicName(channel), devices, can }
    if (can === 'none') {
      const reason = whyNone(first.message) ?? 'The vendor can neither withdraw nor replace a message.'
      return { ...about, does: 'none', reason }
    }
    if (can === 'replace' && wanted === 'withdraw')
      return { ...about, does: 'none', reason: 'The vendor has no call that withdraws a message.' }
    const problem = channel === 'native' ? undefined : problemOf(first, message, certificateIds, certificates)
    return problem === undefined ? { ...about, does: wanted } : { ...about, does: 'none', reason: problem }
  })
}

function canOn(channel: Channel, message: Message): ChannelRecall['can'] {
  if (channel === 'native') return 'withdraw'
  return whyNone(message) === undefined ? cardOf(channel).recall : 'none'
}

/** Why no vendor can recall the message. */
function whyNone({ type, ios }: Message): string | undefined {
  if (type === 'cmd') return 'A cmd message shows nothing.'
  // A replacement would be an alert beside the activity, which stays.
  return ios.liveActivity === undefined ? undefined : 'A Live Activity is changed or ended by its next event.'
}

/** Undefined if a certificate that sent the message can recall it. */
function problemOf(
  first: RecallableTask,
  message: Message,
  certificateIds: readonly number[],
  certificates: ApplicationCertificates,
): string | undefined {
  let problem: string | undefined
  for (const id of certificateIds) {
    const certificate = certificates.byId(id)
    if ('problem' in certificate) {
      problem ??= asSentence(certificate.problem.text)
      continue
    }
    const task = { ...first, message }
    const payload = payloadOf(task, certificate, certificates.applicationName)
    if (!('unsupported' in payload)) return undefined
    problem ??= asSentence(payload.unsupported.text)
  }
  return problem ?? 'Its certificate was removed.'
}

/** Why the task cannot be recalled; undefined if at least one channel can. */
export function refusalOf(
  taskId: number,
  plan: readonly ChannelRecall[],
  withdraw: boolean,
): string | undefined {
  if (plan.length === 0)
    return `The task ${taskId} was not sent to any device; POST /push/task/cancel ends what is left of it.`
  if (plan.some(({ does }) => does !== 'none')) return undefined
  const names = plan.map(({ channel }) => channel)
  const through = names.length === 1 ? names[0] : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
  const advice =
    withdraw && plan.some(({ can }) => can !== 'none')
      ? '; name a message in replace to put it in its place'
      : ''
  return `The task ${taskId} was sent through ${through}, which cannot ${withdraw ? 'withdraw' : 'replace'} this message${advice}.`
}
