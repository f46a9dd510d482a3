import { type Outcome, ownReasons } from '@herald/domain'
import type { Recipient } from '../channel.ts'
import type { ApnsSettings } from './settings.ts'

/**
 * With the certificate's own topic instead, APNs would reply that the token belongs to another app, and a valid binding would be
 * retired.
 */
export const topicNotAllowed: Outcome = { kind: 'rejected', reason: ownReasons.bundle_id_not_listed }

/** Indexes of the recipients by topic; undefined for bundle ids that the certificate does not list. */
export function groupByTopic(
  recipients: readonly Recipient[],
  settings: Pick<ApnsSettings, 'topic' | 'topics'>,
): Map<string | undefined, number[]> {
  const groups = new Map<string | undefined, number[]>()
  recipients.forEach(({ bundleId }, index) => {
    const topic = bundleId ? settings.topics.find((topic) => topic === bundleId) : settings.topic
    const group = groups.get(topic)
    if (group) group.push(index)
    else groups.set(topic, [index])
  })
  return groups
}
