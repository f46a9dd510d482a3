import type { CallbackRequest, CallbackResponse, CallbackResult, Receipt } from '../channel.ts'
import { parseObject } from '../shared/http.ts'
import { readTaskId } from '../shared/identifiers.ts'
import { reason } from '../shared/reason.ts'
import type { HonorSettings, ReceiptMeaning } from './settings.ts'

const contentType = 'application/json;charset=UTF-8'
const success: CallbackResponse = { status: 200, contentType, body: '{"code":"0","message":"success"}' }

/**
 * 40000002 is the only code documented as delivered; 0 is treated the same. Any other code means only "not delivered": it does
 * not retire a token unless the operator defines its meaning in extra.receipt_codes.
 */
const documented: ReadonlyMap<number, ReceiptMeaning> = new Map([
  [40000002, 'delivered'],
  [0, 'delivered'],
])

const eventOf: Readonly<Record<ReceiptMeaning, Receipt['event']>> = {
  delivered: 'received',
  uninstalled: 'gone',
  'token-invalid': 'gone',
  'notify-off': 'dropped',
  throttled: 'dropped',
  expired: 'dropped',
  other: 'dropped',
}

/** Receipts are unsigned: the URL is the secret. https://developer.honor.com/cn/docs/11002/guides/message-receipt */
export function readCallback(request: CallbackRequest, settings: HonorSettings): CallbackResult {
  const statuses = parseObject(request.body.toString('utf8'))?.statuses
  if (!Array.isArray(statuses)) {
    const problem = 'the body has no list named statuses'
    const body = JSON.stringify({ code: '1', message: problem })
    return { ok: false, problem, response: { status: 400, contentType, body } }
  }
  const receipts = statuses.flatMap((item) => readStatus(item, settings) ?? [])
  return { ok: true, receipts, response: success }
}

/** Returns undefined for another sender's push. */
function readStatus(item: unknown, settings: HonorSettings): Receipt | undefined {
  if (typeof item !== 'object' || item === null) return undefined
  const { token, biTag, appid, status } = item as Record<string, unknown>
  if (appid !== undefined && String(appid) !== settings.appId) return undefined
  // Other senders of the same app have other tags, or none.
  const taskId = readTaskId(biTag)
  const code = typeof status === 'string' && status ? Number(status) : status
  if (typeof token !== 'string' || !token || !taskId || typeof code !== 'number' || !Number.isInteger(code))
    return undefined
  const meaning = settings.receiptCodes.get(code) ?? documented.get(code)
  const event = eventOf[meaning ?? 'other']
  if (event === 'received') return { taskId, token, event }
  return { taskId, token, event, reason: reason('honor', code, meaning ?? 'not delivered') }
}
