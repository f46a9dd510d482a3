import { createHash } from 'node:crypto'
import type { VivoPayload } from './payload.ts'
import type { VivoSettings } from './settings.ts'

/** The shortest time that vivo keeps a message: for one device, for a list. */
const leastSingle = 60
const leastList = 900

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
    ...keepFor(payload.ttl, leastSingle),
    ...receiptWish(payload, payload.receipts.kind !== 'none'),
    requestId: requestId(payload, regId),
  }
}

/** What is stored once and shared by all chunks of a task; `key` as the payload is remembered. */
export function listBody(payload: VivoPayload, key: string): object {
  return {
    ...payload.notice,
    ...keepFor(payload.ttl, leastList),
    // Lists have receipts through a receipt id alone.
    ...receiptWish(payload, payload.receipts.kind === 'id'),
    requestId: requestId(payload, key),
  }
}

export function pushBody(payload: VivoPayload, vivoTaskId: string, regIds: readonly string[]): object {
  return {
    appId: payload.notice.appId,
    regIds,
    taskId: vivoTaskId,
    requestId: requestId(payload, `${vivoTaskId} ${regIds.join()}`),
    // Belongs to this body: a test list pushed without it goes out as a formal one.
    pushMode: payload.notice.pushMode,
  }
}

/**
 * Names the stored list payload. The time to live moves with the clock, so it is part of the name in steps of five
 * minutes: a broadcast that lasts an hour stores a dozen payloads, and none outlives its message by more than a step.
 */
export function listKey(payload: VivoPayload): string {
  const step = Math.ceil(payload.ttl / 300)
  return `list-${step}-${digest(JSON.stringify([payload.notice, payload.receipts]))}`
}

/** Less time left than vivo's shortest: only if the device is online now, or it would come too late. */
function keepFor(ttl: number, least: number): { timeToLive: number; sendOnline?: true } {
  return ttl < least ? { timeToLive: least, sendOnline: true } : { timeToLive: ttl }
}

function receiptWish({ receipts, taskId }: VivoPayload, wanted: boolean): { extra?: Record<string, string> } {
  if (!wanted || receipts.kind === 'none') return {}
  const where: Record<string, string> =
    receipts.kind === 'id' ? { 'callback.id': receipts.id } : { callback: receipts.url }
  return { extra: { ...where, 'callback.param': String(taskId) } }
}

/** The same for every attempt at the same devices, at most 64 characters. */
function requestId(payload: VivoPayload, of: string): string {
  return `${payload.taskId}-${digest(of)}`
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
