import { createHash } from 'node:crypto'
import type { VivoPayload } from './payload.ts'
import type { VivoSettings } from './settings.ts'

/** Minimum time to live in seconds, for one device and for a list. */
const minSingle = 60
const minList = 900

/** https://dev.vivo.com.cn/documentCenter/doc/362: MD5 over the plain concatenation, in lower case. */
export function authBody(settings: VivoSettings, timestamp: number): object {
  const { appId, appKey, appSecret } = settings
  const sign = createHash('md5').update(`${appId}${appKey}${timestamp}${appSecret}`).digest('hex')
  return { appId, appKey, timestamp, sign }
}

export function singleBody(payload: VivoPayload, regId: string): object {
  return {
    ...payload.notice,
    regId,
    ...ttlFields(payload.ttl, minSingle),
    ...receiptFields(payload, payload.receipts.kind !== 'none'),
    requestId: requestId(payload, regId),
  }
}

/** The payload that vivo stores once for all calls of a task; `key` is the one of `listKey`. */
export function listBody(payload: VivoPayload, key: string): object {
  return {
    ...payload.notice,
    ...ttlFields(payload.ttl, minList),
    // Lists support only receipts by id.
    ...receiptFields(payload, payload.receipts.kind === 'id'),
    requestId: requestId(payload, key),
  }
}

export function pushBody(payload: VivoPayload, vivoTaskId: string, regIds: readonly string[]): object {
  return {
    appId: payload.notice.appId,
    regIds,
    taskId: vivoTaskId,
    requestId: requestId(payload, `${vivoTaskId} ${regIds.join()}`),
    // Without it, a test list would be sent as a formal one.
    pushMode: payload.notice.pushMode,
  }
}

/**
 * The key of a stored list payload. The remaining time to live is part of it in steps of five minutes: a broadcast of an hour
 * stores a dozen payloads, and none lives longer than its message by more than a step.
 */
export function listKey(payload: VivoPayload): string {
  const step = Math.ceil(payload.ttl / 300)
  return `list-${step}-${digest(JSON.stringify([payload.notice, payload.receipts]))}`
}

/** Below vivo's minimum, the message is sent only to devices that are online: others would get it too late. */
function ttlFields(ttl: number, min: number): { timeToLive: number; sendOnline?: true } {
  return ttl < min ? { timeToLive: min, sendOnline: true } : { timeToLive: ttl }
}

function receiptFields(
  { receipts, taskId }: VivoPayload,
  wanted: boolean,
): { extra?: Record<string, string> } {
  if (!wanted || receipts.kind === 'none') return {}
  const where: Record<string, string> =
    receipts.kind === 'id' ? { 'callback.id': receipts.id } : { callback: receipts.url }
  return { extra: { ...where, 'callback.param': String(taskId) } }
}

/** The same for every attempt to the same devices; at most 64 characters. */
function requestId(payload: VivoPayload, target: string): string {
  return `${payload.taskId}-${digest(target)}`
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
