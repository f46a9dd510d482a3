import type { CallbackAnswer, CallbackReading, CallbackRequest, Receipt } from '../channel.ts'
import { parseObject } from '../shared/http.ts'
import { readTaskId } from '../shared/task-id.ts'
import type { HonorSettings, ReceiptMeaning } from './settings.ts'

const contentType = 'application/json;charset=UTF-8'
const answered: CallbackAnswer = { status: 200, contentType, body: '{"code":"0","message":"success"}' }

/**
 * 40000002 is the one code known to mean delivered; 0 is taken for it too. Any other says only "not delivered": no token is
 * pruned on a code whose meaning nobody wrote down, until the operator does in extra.receipt_codes.
 */
const known: ReadonlyMap<number, ReceiptMeaning> = new Map([
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

/** No signature is known: the address is the secret. https://developer.honor.com/cn/docs/11002/guides/message-receipt */
export function readCallback(request: CallbackRequest, settings: HonorSettings): CallbackReading {
  const statuses = parseObject(request.body.toString('utf8'))?.statuses
  if (!Array.isArray(statuses)) {
    const problem = 'the body holds no list named statuses'
    const body = JSON.stringify({ code: '1', message: problem })
    return { ok: false, problem, answer: { status: 400, contentType, body } }
  }
  const receipts = statuses.flatMap((item) => readStatus(item, settings) ?? [])
  return { ok: true, receipts, answer: answered }
}

/** Undefined: not about a push of ours. */
function readStatus(item: unknown, settings: HonorSettings): Receipt | undefined {
  if (typeof item !== 'object' || item === null) return undefined
  const { token, biTag, appid, status } = item as Record<string, unknown>
  if (appid !== undefined && String(appid) !== settings.appId) return undefined
  // Other senders of the same app write their own tags, or none.
  const taskId = readTaskId(biTag)
  const code = typeof status === 'string' && status ? Number(status) : status
  if (typeof token !== 'string' || !token || !taskId || typeof code !== 'number' || !Number.isInteger(code))
    return undefined
  const meaning = settings.receiptCodes.get(code) ?? known.get(code)
  const event = eventOf[meaning ?? 'other']
  if (event === 'received') return { taskId, token, event }
  return { taskId, token, event, reason: meaning ? `${code} ${meaning}` : String(code) }
}
