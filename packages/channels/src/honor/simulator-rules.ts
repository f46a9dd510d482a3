import { isHttps, isObject, isText, isWhole } from '../shared/sim-checks.ts'

/** A request that passed every rule, or the refusal in Honor's words. */
export type HonorOrder = { tokens: readonly string[]; biTag?: string; marketing: boolean; test: boolean }
export type Refusal = { code: number; message: string }

type Fields = Record<string, unknown>

const parameter = (message: string): Refusal => ({ code: 80100001, message })

/** Judges a body as the reference of sendMessage describes it; the first broken rule is the answer. */
export function judgeHonor(body: unknown, rawBytes: number): HonorOrder | Refusal {
  if (!isObject(body)) return { code: 80100003, message: 'the body is not a JSON object' }
  // The commonest mistake is a body written for Huawei.
  if (body.message !== undefined)
    return { code: 80100003, message: 'message is not a field of this interface' }
  const snake = snakeKeyOf(body)
  if (snake) return { code: 80100003, message: `${snake} is not a field of this interface` }
  const { token, data, notification, android } = body
  if (!Array.isArray(token) || token.some((item) => typeof item !== 'string' || !item))
    return parameter('token must be a list of strings')
  if (token.length < 1 || token.length > 1000)
    return { code: 80300010, message: 'token count must be 1 to 1000' }
  if (rawBytes - Buffer.byteLength(JSON.stringify(token)) > 4096)
    return { code: 80300008, message: 'body too large' }
  if (data !== undefined && typeof data !== 'string') return parameter('data must be a string')
  if (notification !== undefined && !isObject(notification))
    return parameter('notification must be an object')
  if (android !== undefined && !isObject(android)) return parameter('android must be an object')
  const own = android?.notification
  if (own !== undefined && !isObject(own)) return parameter('android.notification must be an object')
  const isNotification = notification !== undefined || own !== undefined
  if (!isNotification && data === undefined && android?.data === undefined)
    return parameter('neither data nor notification is set')
  const shown: Fields = { ...notification, ...own }
  const problem = (android && androidProblem(android)) ?? (isNotification ? noticeProblem(shown) : undefined)
  if (problem) return parameter(problem)
  return {
    tokens: token,
    biTag: android?.biTag as string | undefined,
    marketing: isNotification && shown.importance !== 'NORMAL',
    test: android?.targetUserType === 1,
  }
}

function androidProblem({ ttl, biTag, data, targetUserType }: Fields): string | undefined {
  if (ttl !== undefined && !(typeof ttl === 'string' && /^\d+s?$/.test(ttl)))
    return 'ttl must be seconds such as 86400s'
  if (ttl !== undefined && Number.parseInt(ttl as string, 10) > 1_296_000)
    return 'ttl must be at most 1296000s'
  if (biTag !== undefined && typeof biTag !== 'string') return 'biTag must be a string'
  if (data !== undefined && typeof data !== 'string') return 'android.data must be a string'
  if (targetUserType !== undefined && !isWhole(targetUserType, 0, 1)) return 'targetUserType must be 0 or 1'
  return undefined
}

function noticeProblem(shown: Fields): string | undefined {
  if (!isText(shown.title)) return 'title is missing'
  if (!isText(shown.body)) return 'body is missing'
  if (shown.image !== undefined && shown.image !== '' && !isHttps(shown.image))
    return 'image must be an https URL'
  if (shown.importance !== undefined && shown.importance !== 'LOW' && shown.importance !== 'NORMAL')
    return 'importance must be LOW or NORMAL'
  if (shown.style !== undefined && !isWhole(shown.style, 0, 1)) return 'style must be 0 or 1'
  if (shown.style === 1 && !(isText(shown.bigTitle) && isText(shown.bigBody)))
    return 'style 1 needs bigTitle and bigBody'
  if (shown.notifyId !== undefined && !isWhole(shown.notifyId, -1, 2147483647))
    return 'notifyId must be an int'
  if (shown.buttons !== undefined && !(Array.isArray(shown.buttons) && shown.buttons.length <= 3))
    return 'at most 3 buttons'
  return clickProblem(shown.clickAction) ?? badgeProblem(shown.badge)
}

function clickProblem(click: unknown): string | undefined {
  if (!isObject(click)) return 'clickAction is missing'
  if (!isWhole(click.type, 1, 3)) return 'clickAction.type must be 1, 2 or 3'
  if (click.type === 1 && !isText(click.intent) && !isText(click.action))
    return 'clickAction of type 1 needs intent or action'
  if (click.type === 2 && !isHttps(click.url)) return 'clickAction of type 2 needs an https url'
  return undefined
}

function badgeProblem(badge: unknown): string | undefined {
  if (badge === undefined) return undefined
  if (!isObject(badge) || !isText(badge.badgeClass)) return 'badge needs badgeClass'
  if (badge.setNum !== undefined && !isWhole(badge.setNum, 0, 99)) return 'badge.setNum must be 0 to 99'
  if (badge.addNum !== undefined && !isWhole(badge.addNum, 1, 99)) return 'badge.addNum must be 1 to 99'
  return undefined
}

/** The first key in snake_case outside of texts; values inside `data` are the caller's own. */
function snakeKeyOf(value: unknown): string | undefined {
  if (!isObject(value)) return undefined
  for (const [key, inner] of Object.entries(value)) {
    if (key.includes('_')) return key
    const found = snakeKeyOf(inner)
    if (found) return found
  }
  return undefined
}
