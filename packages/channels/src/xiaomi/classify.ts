import { accepted, type Outcome } from '@herald/domain'
import { nextShanghaiMidnight } from '../shared/day.ts'
import { type FailingKind, failing } from '../shared/failing.ts'
import { type HttpReply, parseObject } from '../shared/http.ts'
import type { XiaomiPayload } from './payload.ts'

/** One outcome for each recipient, or: none of these targets is valid, says the vendor of the call as a whole. */
export type SendVerdict = { outcomeOf(token: string): Outcome } | { noValidTarget: Outcome }

type Meaning = 'targets' | 'busy' | 'slow-down' | 'quota' | 'bad-message' | 'bad-channel' | 'bad-certificate'

/**
 * Error codes of https://dev.mi.com/xiaomihyperos/documentation/detail?pId=1560. A code that is not listed is the message's
 * fault: it fails for that message alone, while a guess at “certificate” would close the channel for everyone.
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
  meanings.flatMap(([meaning, words, codes]) => codes.map((code) => [code, { meaning, words }] as const)),
)

function meaningOf(code: number): { meaning: Meaning; words: string } {
  return byCode.get(code) ?? { meaning: 'bad-message', words: 'unknown code' }
}

export function classifySend(
  reply: HttpReply,
  channelFrom: XiaomiPayload['channelFrom'],
  nowMs: number,
): SendVerdict {
  const byStatus = outcomeOfStatus(reply, nowMs)
  if (byStatus) return forAll(byStatus)
  const body = parseObject(reply.text)
  const code = readCode(body)
  if (body === undefined || code === undefined) return forAll(unreadable)
  if (code === 0) return partial(badRegids(body.data))
  const { meaning, words } = meaningOf(code)
  const reason = `${code} ${words}`
  switch (meaning) {
    case 'targets':
      // 20301 only says that sending failed; without a word about the targets nobody's token is called dead.
      return code === 20301 && !isAboutTargets(body.reason)
        ? forAll({ kind: 'unavailable', reason: `${code} sending failed` })
        : { noValidTarget: { kind: 'gone', reason } }
    case 'busy':
      return forAll({ kind: 'unavailable', reason })
    case 'slow-down':
      return forAll({ kind: 'throttled', reason })
    case 'quota':
      return forAll({ kind: 'quota', reason, until: nextShanghaiMidnight(nowMs) })
    case 'bad-channel':
      return forAll({ kind: channelFrom === 'message' ? 'rejected' : 'misconfigured', reason })
    case 'bad-certificate':
      return forAll({ kind: 'misconfigured', reason })
    case 'bad-message':
      return forAll({ kind: 'rejected', reason })
  }
}

/** What a reply to a harmless call says about the credential. */
export function classifyCheck(reply: HttpReply, nowMs: number): Outcome {
  const byStatus = outcomeOfStatus(reply, nowMs)
  if (byStatus) return byStatus
  const code = readCode(parseObject(reply.text))
  if (code === undefined) return unreadable
  if (code === 0) return accepted
  const { meaning, words } = meaningOf(code)
  const reason = `${code} ${words}`
  return meaning === 'bad-certificate' ? { kind: 'misconfigured', reason } : { kind: 'unavailable', reason }
}

const unreadable: Outcome = { kind: 'unavailable', reason: 'answer is not JSON with a code' }

function outcomeOfStatus(reply: HttpReply, nowMs: number): Outcome | undefined {
  const { status } = reply
  if (status >= 200 && status <= 299) return undefined
  return failing(kindOfStatus(status), `HTTP ${status}`, reply, nowMs)
}

function kindOfStatus(status: number): FailingKind {
  if (status === 429) return 'throttled'
  if (status === 401 || status === 403) return 'misconfigured'
  return status >= 400 && status <= 499 ? 'rejected' : 'unavailable'
}

function forAll(outcome: Outcome): SendVerdict {
  return { outcomeOf: () => outcome }
}

function partial(bad: ReadonlySet<string>): SendVerdict {
  const gone: Outcome = { kind: 'gone', reason: 'bad_regids' }
  return { outcomeOf: (token) => (bad.has(token) ? gone : accepted) }
}

/** Clients have seen bad_regids, bad_regIds and badRegIds. */
function badRegids(data: unknown): ReadonlySet<string> {
  if (typeof data !== 'object' || data === null) return new Set()
  const value = Object.entries(data).find(
    ([key]) => key.replaceAll('_', '').toLowerCase() === 'badregids',
  )?.[1]
  const listed = Array.isArray(value) ? value.map(String) : typeof value === 'string' ? value.split(',') : []
  return new Set(listed.map((token) => token.trim()).filter(Boolean))
}

function isAboutTargets(reason: unknown): boolean {
  return typeof reason === 'string' && /target|reg_?id|registration|目标/i.test(reason)
}

function readCode(body: Record<string, unknown> | undefined): number | undefined {
  const code = typeof body?.code === 'string' && /^-?\d+$/.test(body.code) ? Number(body.code) : body?.code
  return typeof code === 'number' && Number.isInteger(code) ? code : undefined
}
