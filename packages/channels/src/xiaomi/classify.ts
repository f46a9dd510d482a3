import { accepted, type Outcome, ownReasons } from '@herald/domain'
import { type HttpReply, parseObject, readInteger } from '../shared/http.ts'
import { type FailureKind, outcomeOfStatus } from '../shared/outcome.ts'
import { reason } from '../shared/reason.ts'
import { nextShanghaiMidnight } from '../shared/shanghai-time.ts'
import type { XiaomiPayload } from './payload.ts'

/** One outcome per token, or the reply "none of these targets is valid" for the call as a whole. */
export type SendResult = { outcomeOf(token: string): Outcome } | { noValidTarget: Outcome }

type Meaning = 'targets' | 'busy' | 'slow-down' | 'quota' | 'bad-message' | 'bad-channel' | 'bad-certificate'

/**
 * Error codes of https://dev.mi.com/xiaomihyperos/documentation/detail?pId=1560. A code that is not listed fails this message only:
 * treating it as an error of the certificate would disable the channel for all messages.
 */
const meanings: readonly [Meaning, string, readonly number[]][] = [
  ['targets', 'no valid target', [20301]],
  ['targets', 'device unknown', [10029]],
  ['busy', 'device not found', [65003]],
  ['busy', 'vendor busy', [-1, 1, 10001, 10002, 10003, 20607, 22102, 26003, 65029]],
  ['busy', 'request expired', [10037]],
  ['slow-down', 'called too often', [10027]],
  ['slow-down', 'broadcast too often', [26004]],
  ['slow-down', 'rate limit', [200002]],
  ['quota', 'daily quota used', [200001, 10034]],
  ['bad-message', 'bad parameter', [10008, 10012, 10016, 10017, 21305, 65011, 65030]],
  ['bad-message', 'too long', [65009, 65014, 65015, 65036]],
  ['bad-certificate', 'receipt address refused', [65037, 65038]],
  [
    'bad-message',
    'topic, alias or account',
    [20209, 20215, 20216, 20315, 65006, 65007, 65008, 65010, 65012, 65013, 65016, 65017, 65035],
  ],
  ['bad-channel', 'channel does not match', [27001]],
  ['bad-certificate', 'authentication failed', [21301, 21302, 21303]],
  ['bad-certificate', 'application or package refused', [22000, 22006, 22007, 22022, 66108]],
  ['bad-certificate', 'application forbidden', [10031, 10036]],
  ['bad-certificate', 'needs review in the console', [26006]],
  ['bad-message', 'feedback or trace limit', [10030, 10032, 10033, 10035, 10038, 10039, 65028]],
]

const byCode = new Map(
  meanings.flatMap(([meaning, text, codes]) => codes.map((code) => [code, { meaning, text }] as const)),
)

function meaningOf(code: number): { meaning: Meaning; text: string } {
  return byCode.get(code) ?? { meaning: 'bad-message', text: 'unknown code' }
}

export function classifySend(
  reply: HttpReply,
  channelFrom: XiaomiPayload['channelFrom'],
  nowMs: number,
): SendResult {
  const byStatus = outcomeOfStatus('xiaomi', reply, kindOf4xx, nowMs)
  if (byStatus) return forAll(byStatus)
  const body = parseObject(reply.text)
  const code = readInteger(body?.code)
  if (body === undefined || code === undefined) return forAll(unreadable)
  if (code === 0) return partial(badRegids(body.data))
  const { meaning, text } = meaningOf(code)
  const why = reason('xiaomi', code, text)
  switch (meaning) {
    case 'targets':
      // 20301 only means that sending failed; a token is dead only if the reason mentions the targets.
      return code === 20301 && !isAboutTargets(body.reason)
        ? forAll({
            kind: 'unavailable',
            reason: reason('xiaomi', code, 'sending failed', 'sending_failed'),
          })
        : { noValidTarget: { kind: 'gone', reason: why } }
    case 'busy':
      return forAll({ kind: 'unavailable', reason: why })
    case 'slow-down':
      return forAll({ kind: 'throttled', reason: why })
    case 'quota':
      return forAll({ kind: 'quota', reason: why, until: nextShanghaiMidnight(nowMs) })
    case 'bad-channel':
      return forAll({ kind: channelFrom === 'message' ? 'rejected' : 'misconfigured', reason: why })
    case 'bad-certificate':
      return forAll({ kind: 'misconfigured', reason: why })
    case 'bad-message':
      return forAll({ kind: 'rejected', reason: why })
  }
}

/** Returns the outcome of a call that sends nothing: `accepted` if the credentials are valid. */
export function classifyCheck(reply: HttpReply, nowMs: number): Outcome {
  const byStatus = outcomeOfStatus('xiaomi', reply, kindOf4xx, nowMs)
  if (byStatus) return byStatus
  const code = readInteger(parseObject(reply.text)?.code)
  if (code === undefined) return unreadable
  if (code === 0) return accepted
  const { meaning, text } = meaningOf(code)
  const why = reason('xiaomi', code, text)
  return { kind: meaning === 'bad-certificate' ? 'misconfigured' : 'unavailable', reason: why }
}

const unreadable: Outcome = {
  kind: 'unavailable',
  reason: ownReasons.vendor_reply_unreadable('the reply is not JSON with a code'),
}

function kindOf4xx(status: number): FailureKind {
  return status === 401 || status === 403 ? 'misconfigured' : 'rejected'
}

function forAll(outcome: Outcome): SendResult {
  return { outcomeOf: () => outcome }
}

function partial(bad: ReadonlySet<string>): SendResult {
  const gone: Outcome = { kind: 'gone', reason: reason('xiaomi', 'bad_regids', 'listed in bad_regids') }
  return { outcomeOf: (token) => (bad.has(token) ? gone : accepted) }
}

/** The spellings bad_regids, bad_regIds and badRegIds occur. */
function badRegids(data: unknown): ReadonlySet<string> {
  if (typeof data !== 'object' || data === null) return new Set()
  const value = Object.entries(data).find(
    ([key]) => key.replaceAll('_', '').toLowerCase() === 'badregids',
  )?.[1]
  const listed = Array.isArray(value) ? value.map(String) : typeof value === 'string' ? value.split(',') : []
  return new Set(listed.map((token) => token.trim()).filter(Boolean))
}

function isAboutTargets(text: unknown): boolean {
  return typeof text === 'string' && /target|reg_?id|registration|目标/i.test(text)
}
