import type { CallbackRequest, CallbackResponse, CallbackResult, Receipt } from '../channel.ts'
import { parseObject } from '../shared/http.ts'
import { readTaskId } from '../shared/identifiers.ts'
import { reason } from '../shared/reason.ts'

/** Receipt types of Xiaomi's callback documentation; we do not subscribe to others and ignore them. */
const events: Readonly<Record<number, Pick<Receipt, 'event' | 'reason'>>> = {
  1: { event: 'received' },
  2: { event: 'clicked' },
  16: { event: 'gone', reason: reason('xiaomi', 16, 'target invalid') },
  32: { event: 'dropped', reason: reason('xiaomi', 32, 'push disabled in the app') },
  64: { event: 'dropped', reason: reason('xiaomi', 64, 'device filter not met') },
  128: { event: 'dropped', reason: reason('xiaomi', 128, 'daily quota exceeded') },
}

/** A token that Xiaomi has replaced by another one. */
const replaced: Pick<Receipt, 'event' | 'reason'> = {
  event: 'dropped',
  reason: reason('xiaomi', 'replaceTarget', 'target replaced by another one'),
}

/** Xiaomi ignores the body of our response. */
const received: CallbackResponse = { status: 200, contentType: 'text/plain', body: '' }
const refused: CallbackResponse = { status: 400, contentType: 'text/plain', body: '' }

/**
 * A form whose field `data` is a JSON object with message ids as keys. Receipts are unsigned: the URL is the secret. An item
 * whose `param` is not a task id belongs to another sender.
 */
export function readCallback(request: CallbackRequest): CallbackResult {
  const data = new URLSearchParams(request.body.toString('utf8')).get('data')
  if (data === null) return { ok: false, problem: 'the form has no field data', response: refused }
  const items = parseObject(data)
  if (!items) return { ok: false, problem: 'the field data is not a JSON object', response: refused }
  return { ok: true, receipts: Object.values(items).flatMap(readItem), response: received }
}

function readItem(item: unknown): Receipt[] {
  if (typeof item !== 'object' || item === null) return []
  const { type, targets, param, replaceTarget } = item as Record<string, unknown>
  const event = events[Number(type)]
  const taskId = readTaskId(param)
  if (!event || taskId === undefined || typeof targets !== 'string') return []
  return targets
    .split(',')
    .map((token) => token.trim())
    .filter(Boolean)
    .map((token) => {
      const isReplaced = event.event === 'gone' && hasSuccessor(token, replaceTarget)
      return { taskId, token, ...(isReplaced ? replaced : event) }
    })
}

/** `replaceTarget` maps invalid tokens to their successors. The device is not lost, so its binding stays until the app binds the new token. */
function hasSuccessor(token: string, replaceTarget: unknown): boolean {
  return typeof replaceTarget === 'object' && replaceTarget !== null && Object.hasOwn(replaceTarget, token)
}
