import type { Faults, PresetReply } from '../simulator.ts'

const faultShares = ['throttle', 'unavailable', 'hang', 'cut', 'htmlForbidden'] as const
const faultFlags = ['expireAuth', 'refuseAuth', 'silentReceipts'] as const
const faultCounts = ['latencyMs', 'goawayAfter', 'maxBodyBytes', 'retryAfter', 'forSeconds'] as const
const replyFields = ['status', 'headers', 'body', 'share', 'every', 'path']

/** Returns the faults, or what is wrong with them: a misspelt fault would be ignored, and a drill would pass without it. */
export function readFaults(value: unknown, knownRules: readonly string[] = []): Faults | string {
  if (!isObject(value)) return 'faults must be a JSON object'
  const known: readonly string[] = [...faultShares, ...faultFlags, ...faultCounts, 'reply', 'rules']
  for (const name of Object.keys(value)) if (!known.includes(name)) return `${name} is not a known fault`
  for (const name of faultShares)
    if (value[name] !== undefined && !isShare(value[name])) return `${name} must be a share from 0 to 1`
  for (const name of faultFlags)
    if (value[name] !== undefined && typeof value[name] !== 'boolean') return `${name} must be true or false`
  for (const name of faultCounts) {
    const count = value[name]
    if (count !== undefined && !(typeof count === 'number' && count >= 0))
      return `${name} must be a number, 0 or more`
  }
  if (value.rules !== undefined && !isTexts(value.rules)) return 'rules must be a list of names'
  const faults = value as Faults
  return (
    (value.reply === undefined ? undefined : findReplyMistake(value.reply)) ??
    unknownRule(faults, knownRules) ??
    faults
  )
}

/** Says which of the wanted rules this simulator does not have. */
export function unknownRule({ rules = [] }: Faults, known: readonly string[] = []): string | undefined {
  const unknown = rules.find((name) => !known.includes(name))
  return unknown === undefined ? undefined : `${unknown} is not a rule of this simulator`
}

function findReplyMistake(value: unknown): string | undefined {
  if (!isObject(value)) return 'reply must be a JSON object'
  for (const name of Object.keys(value))
    if (!replyFields.includes(name)) return `reply.${name} is not a known field`
  const { status, headers = {}, share = 1, every = 1, path = '' } = value
  if (!Number.isInteger(status) || (status as number) < 200 || (status as number) > 599)
    return 'reply.status must be an HTTP status from 200 to 599'
  if (!isObject(headers) || !isTexts(Object.values(headers)))
    return 'reply.headers must be an object of strings'
  if (!isShare(share)) return 'reply.share must be a share from 0 to 1'
  if (!Number.isInteger(every) || (every as number) < 1)
    return 'reply.every must be a whole number, 1 or more'
  return typeof path === 'string' ? undefined : 'reply.path must be a string'
}

/** A reply in place of the vendor's. */
export type PresetAnswer = { status: number; headers: Record<string, string>; body: string }

/** Returns the reply that a fault gives before the vendor looks at the request. */
export function findPresetAnswer(faults: Faults, path: string, body: string): PresetAnswer | undefined {
  const { htmlForbidden, maxBodyBytes = Number.POSITIVE_INFINITY, reply } = faults
  if (strikes(htmlForbidden)) return htmlPage(403, 'Forbidden')
  if (Buffer.byteLength(body) > maxBodyBytes) return htmlPage(413, 'Request Entity Too Large')
  return reply && path.startsWith(reply.path ?? '') && isTurnOf(reply) && strikes(reply.share ?? 1)
    ? written(reply)
    : undefined
}

const counted = new WeakMap<PresetReply, number>()

function isTurnOf(reply: PresetReply): boolean {
  const count = (counted.get(reply) ?? 0) + 1
  counted.set(reply, count)
  return count % (reply.every ?? 1) === 0
}

function written({ status, headers, body = '' }: PresetReply): PresetAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const type = typeof body === 'string' ? 'text/plain; charset=UTF-8' : 'application/json; charset=UTF-8'
  return { status, headers: { 'content-type': type, ...headers }, body: text }
}

/** The error page of nginx, which many gateways are. */
function htmlPage(status: number, title: string): PresetAnswer {
  const heading = `${status} ${title}`
  return {
    status,
    headers: { 'content-type': 'text/html' },
    body: `<html>\r\n<head><title>${heading}</title></head>\r\n<body>\r\n<center><h1>${heading}</h1></center>\r\n</body>\r\n</html>\r\n`,
  }
}

/** Adds the Retry-After header of the fault `retryAfter`. */
export function withRetryAfter<Answer extends { headers?: Record<string, string> }>(
  answer: Answer,
  { retryAfter }: Faults,
): Answer {
  if (retryAfter === undefined) return answer
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(retryAfter) } }
}

/** Whether a fault of this share strikes now. */
export function strikes(share: number | undefined): boolean {
  return share !== undefined && share > 0 && Math.random() < share
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isShare(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= 1
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}
