import type { Outcome, Reason } from '@herald/domain'
import type { HeldOutcome, Recipient, TransportDeps } from '../channel.ts'
import { refusalHoldMs } from '../shared/hold-refusals.ts'
import { reason } from '../shared/reason.ts'
import { usesDeviceToken } from './card-push-types.ts'
import type { ApnsPayload } from './payload.ts'
import type { Watch } from './watch-sends.ts'

/**
 * Dead tokens of a topic that are believed without an accepted push. The guard of certificates needs as many to become suspicious: with
 * fewer, it would not restore those that were retired before this guard began.
 */
const believed = 20
/**
 * A topic is held when its tokens have been called dead for this long without an accepted push. Not sooner: a process that has just
 * started knows of no accepted push, and its first batch may be one of dead tokens.
 */
const doubtMs = 600_000

/** What a token of another environment or bundle id gets. Unregistered ones have belonged to the topic. */
const doubtful: ReadonlySet<string> = new Set(
  ['BadDeviceToken', 'DeviceTokenNotForTopic'].map((word) => reason('apns', word, '').code),
)

type Topic = {
  /** Doubtful answers since the last accepted push. */
  dead: number
  /** When the first of them came, Unix ms. */
  doubtedAt?: number
}

/**
 * Follows the topics of one certificate. If APNs calls many tokens of a topic dead and accepts none, its environment or bundle id is
 * probably wrong: no further token of it is reported dead, and if this lasts it is held, while other topics are sent. `scopeOf` names
 * the hold.
 */
export function guardTopics(
  defaultTopic: string,
  scopeOf: (payload: ApnsPayload, recipient: Recipient) => string,
  { holds, now }: Pick<TransportDeps, 'holds' | 'now'>,
): Watch<ApnsPayload> {
  const topics = new Map<string, Topic>()

  function topicOf({ bundleId = defaultTopic }: Recipient): Topic {
    const known = topics.get(bundleId)
    if (known) return known
    const topic: Topic = { dead: 0 }
    topics.set(bundleId, topic)
    return topic
  }

  function holdIfNoneAccepted(scope: string, { dead, doubtedAt }: Topic, outcome: HeldOutcome): void {
    const at = now()
    if (dead >= believed && doubtedAt !== undefined && at - doubtedAt >= doubtMs)
      holds.add(scope, outcome, at + refusalHoldMs)
  }

  return ({ signal, report }, payloadOf, recipients) => {
    /** By scope: the topics of this send with doubtful answers, and what their messages get if they are held. */
    const doubted = new Map<string, { topic: Topic; outcome: HeldOutcome }>()
    let unreported = recipients.length

    function judge(at: number, outcome: Outcome): Outcome {
      const isDoubtful = outcome.kind === 'gone' && doubtful.has(outcome.reason.code)
      if (!isDoubtful && outcome.kind !== 'accepted') return outcome
      const payload = payloadOf(at)
      // Other types have tokens of their own, which end without a fault of the certificate and are not retired.
      if (!usesDeviceToken(payload.pushType)) return outcome
      const recipient = recipients[at]!
      const topic = topicOf(recipient)
      if (!isDoubtful) {
        topic.dead = 0
        topic.doubtedAt = undefined
        return outcome
      }
      topic.doubtedAt ??= now()
      const refused: HeldOutcome = { kind: 'rejected', reason: reasonOfTopic(outcome.reason) }
      doubted.set(scopeOf(payload, recipient), { topic, outcome: refused })
      return ++topic.dead > believed ? refused : outcome
    }

    return {
      signal,
      report(at, outcome) {
        report(at, judge(at, outcome))
        // Not before the last answer: one of the others may have been accepted.
        if (--unreported > 0) return
        for (const [scope, { topic, outcome }] of doubted) holdIfNoneAccepted(scope, topic, outcome)
      },
    }
  }
}

function reasonOfTopic({ code, text }: Reason): Reason {
  return {
    code: `${code}.topic`,
    text: `${text} for ${believed} or more tokens of this topic, and no push was accepted: check the environment and the bundle id; no further token is retired`,
  }
}
