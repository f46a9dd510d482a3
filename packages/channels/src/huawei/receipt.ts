import { createHmac, timingSafeEqual } from 'node:crypto'
import type { CallbackRequest, CallbackResponse, CallbackResult, Receipt } from '../channel.ts'
import { parseObject, readInteger } from '../shared/http.ts'
import { readTaskId } from '../shared/identifiers.ts'
import { reason } from '../shared/reason.ts'
import type { HuaweiSettings } from './settings.ts'

const success: CallbackResponse = {
  status: 200,
  contentType: 'application/json;charset=UTF-8',
  body: '{"code":"0","message":"success"}',
}

const refused = (status: number, problem: string): CallbackResult => ({
  ok: false,
  problem,
  response: {
    status,
    contentType: 'application/json;charset=UTF-8',
    body: JSON.stringify({ code: '1', message: problem }),
  },
})

/** Contains the signature. */
export const callbackHeader = 'x-huawei-callback-id'

/** Maximum difference between a signature's time and ours. A replay within it has no effect: a receipt counts once. */
const windowMs = 5 * 60_000

/** https://developer.huawei.com/consumer/en/doc/HMSCore-References/https-send-receipt-api-0000001051066120 */
export function readCallback(request: CallbackRequest, settings: HuaweiSettings): CallbackResult {
  if (settings.callback) {
    const header = request.headers[callbackHeader]
    // The test button of the console is said to send none: it gets a success reply and is not counted.
    if (!header)
      return { ok: false, problem: 'the receipt has no X-HUAWEI-CALLBACK-ID header', response: success }
    const problem = checkSignature(header, settings.callback, request.now)
    if (problem) return refused(401, problem)
  }
  const statuses = parseObject(request.body.toString('utf8'))?.statuses
  if (!Array.isArray(statuses)) return refused(400, 'the body has no list named statuses')
  const receipts = statuses.flatMap((item) => readStatus(item) ?? [])
  return { ok: true, receipts, response: success }
}

/**
 * value = base64(HMAC-SHA256(key, timestamp + nonce + user)). Newer secrets are base64 of the key, older ones the key itself,
 * and they cannot be distinguished: either may match.
 */
function checkSignature(
  header: string,
  { user, secret }: { user: string; secret: string },
  nowMs: number,
): string | undefined {
  const parts = new Map<string, string>()
  for (const part of header.split(';')) {
    const at = part.indexOf('=')
    if (at > 0) parts.set(part.slice(0, at).trim(), part.slice(at + 1).trim())
  }
  const timestamp = parts.get('timestamp') ?? ''
  const signed = timestamp + (parts.get('nonce') ?? '') + user
  const value = Buffer.from(parts.get('value') ?? '', 'base64')
  const matches = [Buffer.from(secret, 'base64'), Buffer.from(secret)].some((key) => {
    const expected = createHmac('sha256', key).update(signed).digest()
    return expected.length === value.length && timingSafeEqual(expected, value)
  })
  if (!matches) return 'the signature of the receipt is wrong'
  const at = Number(timestamp) * (/^\d{10}$/.test(timestamp) ? 1000 : 1)
  if (!(Math.abs(nowMs - at) <= windowMs))
    return 'the signature of the receipt is too old, or the clocks differ by more than 5 minutes'
  return undefined
}

/** 0: delivered; 2 and 5: the token is dead; 27 and 51: pending on the device, may still become 0. */
const pending = new Set([27, 51])
const gone = new Set([2, 5])

/**
 * Version 1 of the receipt has `status`, version 2 `deliveryStatus.result`. Returns undefined for another sender's push. `appid` is
 * not compared with the certificate: newer apps have an App ID that differs from the client id, and the address is secret.
 */
function readStatus(item: unknown): Receipt | undefined {
  if (typeof item !== 'object' || item === null) return undefined
  const { token, biTag, status, subStatus, deliveryStatus } = item as Record<string, unknown>
  // Other senders of the same app have other tags, or none.
  const taskId = readTaskId(biTag)
  const result = readInteger(status ?? (deliveryStatus as { result?: unknown } | null | undefined)?.result)
  if (typeof token !== 'string' || !token || !taskId || result === undefined) return undefined
  if (result === 0) return { taskId, token, event: 'received' }
  if (pending.has(result)) return undefined
  const detail = /^\w{1,16}$/.test(String(subStatus ?? '')) ? String(subStatus) : undefined
  const text = `receipt status ${result}${detail === undefined ? '' : `/${detail}`}`
  const event = gone.has(result) ? 'gone' : 'dropped'
  return { taskId, token, event, reason: reason('huawei', result, text, detail) }
}
