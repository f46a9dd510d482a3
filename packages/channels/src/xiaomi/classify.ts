import { accepted, type Outcome, ownReasons } from '@herald/domain'
import { type HttpReply, parseObject, readInteger } from '../shared/http.ts'
import { outcomeOfBareStatus, unknownCodeTries, vendorText } from '../shared/outcome.ts'
import { reason } from '../shared/reason.ts'
import { nextShanghaiMidnight } from '../shared/shanghai-time.ts'
import { wasTooLarge } from '../shared/too-large.ts'

/** One outcome per token, or one for the call; with a `cause`, the transport sends in another way before it reports the outcome. */
export type SendResult =
  | { outcomeOf(token: string): Outcome }
  | { whole: Outcome; cause?: 'targets' | 'one-target' | 'too-large' | 'receipts' }

type Meaning =
  | 'targets'
  | 'one-target'
  | 'device-off'
  | 'busy'
  | 'slow-down'
  | 'quota'
  | 'bad-message'
  | 'too-large'
  | 'bad-receipts'
  | 'bad-certificate'

/**
 * Error codes of https://dev.mi.com/xiaomihyperos/documentation/detail?pId=1560 and of Xiaomi's server SDK. `bad-certificate`
 * closes the certificate for all messages, so it contains only codes by which Xiaomi refuses the secret or the application.
 */
export const meanings: readonly [Meaning, string, readonly number[]][] = [
  ['targets', 'no valid target', [20301]],
  ['one-target', 'device unknown', [10029]],
  ['device-off', 'device not found', [65003]],
  ['busy', 'vendor busy', [-1, 1, 10001, 10002, 10003, 10009, 20607, 22102, 26003, 65029]],
  ['busy', 'job timed out', [10010]],
  ['busy', 'RPC error', [10011]],
  ['busy', 'request expired', [10037]],
  ['busy', 'this server’s address is barred', [10004]],
  ['busy', 'token authentication failed', [21302]],
  ['busy', 'request restricted', [21303]],
  ['slow-down', 'called too often', [10022, 10023, 10024, 10027, 10028]],
  ['slow-down', 'broadcast too often', [26004]],
  ['slow-down', 'rate limit', [200002]],
  ['quota', 'daily quota used', [200001, 10034]],
  ['bad-message', 'bad parameter', [100, 10008, 10012, 10016, 10017, 21305, 65011, 65030]],
  ['bad-message', 'wrong content type, path or method', [10007, 10020, 10021]],
  ['too-large', 'request too long', [10018]],
  ['bad-message', 'too long', [65009, 65014, 65015, 65036]],
  ['bad-receipts', 'receipt address refused', [10025, 65037, 65038]],
  [
    'bad-message',
    'topic, alias or account',
    [20209, 20215, 20216, 20315, 65006, 65007, 65008, 65010, 65012, 65013, 65016, 65017, 65035],
  ],
  ['bad-message', 'application data refused', [22003, 22004, 22005, 22020]],
  ['bad-message', 'notification data refused', [22100, 22101, 22103]],
  ['bad-message', 'no permission for this interface', [10005, 10014]],
  ['bad-message', 'app key or user refused', [10006, 10013, 22021]],
  ['bad-message', 'operation forbidden', [10036]],
  ['bad-message', 'channel does not match', [27001]],
  ['bad-message', 'channel needs review in the console', [26006]],
  ['bad-message', 'package name refused', [66108]],
  ['bad-message', 'refused without a documented meaning', [26005, 65040, 65041]],
  ['bad-message', 'feedback or trace limit', [10030, 10032, 10033, 10035, 10038, 10039, 65028]],
  ['bad-certificate', 'App Secret refused', [21301]],
  ['bad-certificate', 'application unknown, revoked or refused', [22000, 22001, 22002, 22006, 22007, 22008]],
  ['bad-certificate', 'package name is not the application’s', [22022]],
  ['bad-certificate', 'application on the black list', [10026, 10031]],
]

const byCode = new Map(
  meanings.flatMap(([meaning, text, codes]) => codes.map((code) => [code, { meaning, text }] as const)),
)

/** Codes that concern one notification channel. */
export const channelCodes: ReadonlySet<string> = new Set(['xiaomi.27001', 'xiaomi.26006'])
export const forbiddenCode = 'xiaomi.10036'

export function classifySend(reply: HttpReply, nowMs: number): SendResult {
  const byStatus = outcomeOfBareStatus('xiaomi', reply, nowMs)
  if (byStatus) return wasTooLarge(byStatus) ? { whole: byStatus, cause: 'too-large' } : { whole: byStatus }
  const body = parseObject(reply.text)
  const code = readInteger(body?.code)
  if (body === undefined || code === undefined) return { whole: unreadable }
  if (code === 0) return partial(badRegids(body.data))
  const known = byCode.get(code)
  if (!known) return { whole: unknown(code, body) }
  const why = reason('xiaomi', code, known.text)
  switch (known.meaning) {
    case 'targets':
      // 20301 only means that sending failed; a token is dead only if the reason mentions the targets.
      return isAboutTargets(body.reason)
        ? { whole: { kind: 'gone', reason: why }, cause: 'targets' }
        : {
            whole: {
              kind: 'unavailable',
              reason: reason('xiaomi', code, 'sending failed', 'sending_failed'),
            },
          }
    case 'one-target':
      // Xiaomi does not say which one.
      return { whole: { kind: 'gone', reason: why }, cause: 'one-target' }
    case 'device-off':
      // It is about the device, so it neither stops other calls nor counts as silence of the vendor.
      return { whole: { kind: 'unavailable', reason: why, minWait: 60, maxTries: unknownCodeTries } }
    case 'busy':
      return { whole: { kind: 'unavailable', reason: why } }
    case 'slow-down':
      return { whole: { kind: 'throttled', reason: why } }
    case 'quota':
      return { whole: { kind: 'quota', reason: why, until: nextShanghaiMidnight(nowMs) } }
    case 'bad-certificate':
      return { whole: { kind: 'misconfigured', reason: why } }
    case 'bad-message':
      return { whole: { kind: 'rejected', reason: why } }
    case 'too-large':
      return { whole: { kind: 'rejected', reason: why }, cause: 'too-large' }
    case 'bad-receipts':
      return { whole: { kind: 'rejected', reason: why }, cause: 'receipts' }
  }
}

/**
 * Returns the outcome of reading the quota: `accepted` if the secret is valid, `misconfigured` if Xiaomi refuses it or the
 * application, otherwise `unavailable`.
 */
export function classifyCheck(reply: HttpReply, nowMs: number): Outcome {
  const result = classifySend(reply, nowMs)
  if ('outcomeOf' in result) return accepted
  const { whole } = result
  if (whole.kind === 'accepted' || whole.kind === 'misconfigured') return whole
  return { kind: 'unavailable', reason: whole.reason }
}

const unreadable: Outcome = {
  kind: 'unavailable',
  reason: ownReasons.vendor_reply_unreadable('the reply is not JSON with a code'),
}

function unknown(code: number, body: Record<string, unknown>): Outcome {
  const text = vendorText(body.reason) || vendorText(body.description)
  return {
    kind: 'unavailable',
    reason: reason('xiaomi', code, text ? `unknown code: ${text}` : 'unknown code'),
    maxTries: unknownCodeTries,
  }
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
