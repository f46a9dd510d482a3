import { hasActivity } from '@herald/db/devices'
import type { Database } from '@herald/db/store'
import { devicesById } from '@herald/db/tasks'
import {
  activityTokensOf,
  type Channel,
  type ChannelStatus,
  type NewTask,
  ownReasons,
  publicName,
  type Reason,
  routeOf,
  type Skipped,
} from '@herald/domain'
import type { CertificateCache } from './certificate-cache.ts'
import { notesOf, rulesFor } from './rules.ts'

export type Explanation = {
  /** Public name of the selected channel; null when there is none. */
  channel: string | null
  reason: Reason
  /** `notes` of a vendor that would take the message. */
  others: { channel: string; reason: Reason; notes: string[] }[]
  /** About the selected vendor: what it does not carry of the message, refuses or leaves unanswered. English sentences. */
  notes: string[]
}

/** Returns the channel that a device would get for a task, and the reasons against the others. Sends nothing. */
export async function explain(
  deps: { db: Database; certificates: CertificateCache },
  task: NewTask,
  deviceId: number,
): Promise<Explanation> {
  const [[device], certificates] = await Promise.all([
    devicesById(deps.db.pool, [deviceId]),
    deps.certificates.of(task.appId),
  ])
  const skipped: Skipped[] = []
  const rules = rulesFor(task, certificates)
  const route = device
    ? routeOf(device, rules, skipped)
    : ({ to: 'unreachable', reason: ownReasons.device_unknown } as const)
  const channel = route.to === 'vendor' ? route.channel : route.to === 'unreachable' ? null : 'native'
  const notesWith = (status: ChannelStatus | undefined) => {
    if (status?.certificateId === undefined || status.unusable) return []
    const certificate = certificates.byId(status.certificateId)
    return 'settings' in certificate
      ? notesOf(task, certificate, certificates.applicationName, Date.now())
      : []
  }
  const notesOn = (other: Channel) => {
    const binding = device?.bindings.find((candidate) => candidate.channel === other)
    return notesWith(binding && rules.statusOf(binding.channel, binding.environment, binding.region))
  }
  return {
    channel: channel && publicName(channel),
    reason: route.reason,
    others: skipped
      .filter((other) => other.channel !== channel)
      .map((other) => ({
        channel: publicName(other.channel),
        reason: other.reason,
        notes: notesOn(other.channel),
      })),
    notes: [
      ...(route.to === 'vendor' ? await activityNotes(deps.db, task, deviceId) : []),
      ...notesWith(route.to === 'vendor' ? route.status : undefined),
    ],
  }
}

/** A device without a token for the Live Activity gets nothing, although its channel can carry the message. */
async function activityNotes(db: Database, task: NewTask, deviceId: number): Promise<string[]> {
  const wanted = activityTokensOf(task)
  // Without an audience nobody knows which activity is meant.
  if (!wanted || wanted.names.length === 0 || (await hasActivity(db.pool, deviceId, wanted))) return []
  return [
    wanted.kind === 'start'
      ? `The device has no token that starts Live Activities of the type ${wanted.names[0]}: nothing is sent to it.`
      : 'The device has no token of these Live Activities: nothing is sent to it.',
  ]
}
