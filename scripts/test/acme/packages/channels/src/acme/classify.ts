import { accepted, type Outcome, ownReasons } from '@herald/domain'
import { type HttpReply, parseObject } from '../shared/http.ts'
import { outcomeOfStatus } from '../shared/outcome.ts'
import { reason } from '../shared/reason.ts'

/** Returns the outcome of a token. */
export function classify(reply: HttpReply, nowMs: number): (token: string) => Outcome {
  const failure = outcomeOfStatus(
    'acme',
    reply,
    (status) => (status === 401 ? 'misconfigured' : 'rejected'),
    nowMs,
  )
  if (failure) return () => failure
  const dead = parseObject(reply.text)?.dead
  if (!Array.isArray(dead)) return () => unreadable
  return (token) => (dead.includes(token) ? gone : accepted)
}

const gone: Outcome = { kind: 'gone', reason: reason('acme', 'dead', 'listed as dead') }
const unreadable: Outcome = {
  kind: 'unavailable',
  reason: ownReasons.vendor_reply_unreadable('the reply has no list of dead tokens'),
}
