import type { Outcome } from '@herald/domain'
import type { Recipient } from '../channel.ts'
import type { ApnsSettings } from './settings.ts'

/**
 * Sent under the certificate's own topic instead, APNs would call the token one of another app, and a good binding would be
 * retired for it.
 */
export const notAllowed: Outcome = {
  kind: 'rejected',
  reason: 'the bundle id of the binding is not among the bundle_ids of the certificate',
}

/** Places of the recipients by topic; undefined gathers those whose bundle id the certificate does not list. */
export function groupByTopic(
  recipients: readonly Recipient[],
  settings: Pick<ApnsSettings, 'topic' | 'topics'>,
): Map<string | undefined, number[]> {
  const groups = new Map<string | undefined, number[]>()
  recipients.forEach(({ bundleId }, index) => {
    const topic = bundleId ? settings.topics.find((one) => one === bundleId) : settings.topic
    const group = groups.get(topic)
    if (group) group.push(index)
    else groups.set(topic, [index])
  })
  return groups
}
