import { createHmac, timingSafeEqual } from 'node:crypto'
import type { CallbackAnswer, CallbackReading, CallbackRequest, Receipt } from '../channel.ts'
import { parseObject } from '../shared/http.ts'
import { readTaskId } from '../shared/task-id.ts'
import type { HuaweiSettings } from './settings.ts'

const answered: CallbackAnswer = {
  status: 200,
  contentType: 'application/json;charset=UTF-8',
  body: '{"code":"0","message":"success"}',
}

const refused = (status: number, problem: string): CallbackReading => ({
  ok: false,
  problem,
  answer: {
    status,
    contentType: 'application/json;charset=UTF-8',
    body: JSON.stringify({ code: '1', message: problem }),
  },
})

/** A receipt's signature is good for this long around its time; replays within it change nothing, receipts count once. */
const windowMs = 5 * 60_000

/** https://developer.huawei.com/consumer/en/doc/HMSCore-References/https-send-receipt-api-0000001051066120 */
export function readCallback(request: CallbackRequest, settings: HuaweiSettings): CallbackReading {
  if (settings.callback) {
    const header = request.headers['x-huawei-callback-id']
    // The console's test button is said to come without it: it is answered well and counts for nothing.
    if (!header)
      return { ok: false, problem: 'the receipt carries no X-HUAWEI-CALLBACK-ID', answer: answered }
    const problem = checkSignature(header, settings.callback, request.now)
    if (problem) return refused(401, problem)
  }
  const statuses = parseObject(request.body.toString('utf8'))?.statuses
  if (!Array.isArray(statuses)) return refused(400, 'the body holds no list named statuses')
  const receipts = statuses.flatMap((item) => readStatus(item, settings.clientId) ?? [])
  return { ok: true, receipts, answer: answered }
}

/**
 * value = base64(HMAC-SHA256(key, timestamp + nonce + user)). Newer keys are base64 of the real key, older ones the key
 * itself, and nothing tells them apart: either may match.
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
  if (!(Math.abs(nowMs - at) <= windowMs)) return 'the signature of the receipt is out of time'
  return undefined
}

/** 0 reached the device; 2 and 5 prove a dead token; 27 and 51 wait on the device and may still become 0. */
const waiting = new Set([27, 51])
const gone = new Set([2, 5])

/** Version 1 of the receipt has `status`, version 2 `deliveryStatus.result`. Undefined: not about a push of ours. */
function readStatus(item: unknown, clientId: string | undefined): Receipt | undefined {
  if (typeof item !== 'object' || item === null) return undefined
  const { token, biTag, status, subStatus, deliveryStatus, ...rest } = item as Record<string, unknown>
  const owner = rest.appid ?? rest.clientId
  if (clientId !== undefined && owner !== undefined && String(owner) !== clientId) return undefined
  // Other senders of the same app write their own tags, or none.
  const taskId = readTaskId(biTag)
  const result = Number(status ?? (deliveryStatus as { result?: unknown } | null | undefined)?.result)
  if (typeof token !== 'string' || !token || !taskId || !Number.isInteger(result)) return undefined
  if (result === 0) return { taskId, token, event: 'received' }
  if (waiting.has(result)) return undefined
  const reason = /^\w{1,16}$/.test(String(subStatus ?? '')) ? `${result}/${subStatus}` : String(result)
  return { taskId, token, event: gone.has(result) ? 'gone' : 'dropped', reason }
}
