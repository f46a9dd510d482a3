import { isHttps, isObject, isText, isWhole } from '../shared/sim-checks.ts'
import { type Answer, answer } from './simulator-answers.ts'

/** A request of v3 that passed every rule. */
type NextOrder = { tokens: readonly string[]; biTag?: string }

/** The push types of the page; only alerts and background messages have rules here. */
const pushTypes = new Set(['0', '1', '2', '6', '7', '10'])

export function judgeNext(body: unknown, rawBytes: number, pushType: string | undefined): NextOrder | Answer {
  if (pushType === undefined || !pushTypes.has(pushType)) return parameter('push-type is not known')
  if (!isObject(body) || !isObject(body.payload) || !isObject(body.target))
    return answer('80100003', 'Illegal payload')
  const { payload, target, pushOptions = {} } = body
  if (!isObject(pushOptions)) return parameter('pushOptions must be an object')
  const tokens = target.token
  if (!Array.isArray(tokens) || tokens.some((item) => typeof item !== 'string' || !item))
    return answer('80300010', 'Invalid number of tokens')
  if (tokens.length < 1 || tokens.length > 1000) return answer('80300010', 'Invalid number of tokens')
  if (pushOptions.testMessage === true && tokens.length > 10)
    return answer('80300030', 'Too many tokens for a test message')
  if (rawBytes - Buffer.byteLength(JSON.stringify(tokens)) > 4096)
    return answer('80300008', 'The length of the message body exceeds the default value')
  const problem = optionsProblem(pushOptions) ?? payloadProblem(payload, pushType)
  return problem ? parameter(problem) : { tokens, biTag: pushOptions.biTag as string | undefined }
}

type Fields = Record<string, unknown>

const parameter = (detail: string): Answer => answer('80100001', `Invalid parameter: ${detail}`)

function optionsProblem({ ttl, biTag, testMessage }: Fields): string | undefined {
  if (ttl !== undefined && !isWhole(ttl, 1, 1_296_000)) return 'ttl must be a number from 1 to 1296000'
  if (biTag !== undefined && typeof biTag !== 'string') return 'biTag must be a string'
  if (testMessage !== undefined && typeof testMessage !== 'boolean')
    return 'testMessage must be true or false'
  return undefined
}

function payloadProblem(payload: Fields, pushType: string): string | undefined {
  if (pushType === '6')
    return typeof payload.extraData === 'string' ? undefined : 'a background message needs extraData'
  return pushType === '0' ? alertProblem(payload.notification) : undefined
}

function alertProblem(shown: unknown): string | undefined {
  if (!isObject(shown)) return 'an alert needs notification'
  for (const name of ['category', 'title', 'body'])
    if (!isText(shown[name])) return `notification.${name} is missing`
  if (shown.image !== undefined && !isHttps(shown.image)) return 'notification.image must be an https URL'
  if (shown.notifyId !== undefined && !isWhole(shown.notifyId, 0, 2147483647))
    return 'notifyId must be an int'
  const click = shown.clickAction
  if (!isObject(click) || !isWhole(click.actionType, 0, 1)) return 'clickAction.actionType must be 0 or 1'
  if (click.actionType === 1 && !click.action && !click.uri) return 'actionType 1 needs action or uri'
  if (click.data !== undefined && !isObject(click.data)) return 'clickAction.data must be an object'
  const badge = shown.badge
  if (badge === undefined) return undefined
  if (!isObject(badge)) return 'badge must be an object'
  if (badge.addNum !== undefined && !isWhole(badge.addNum, 1, 99)) return 'badge.addNum must be 1 to 99'
  if (badge.setNum !== undefined && !isWhole(badge.setNum, 0, 99)) return 'badge.setNum must be 0 to 99'
  return undefined
}
