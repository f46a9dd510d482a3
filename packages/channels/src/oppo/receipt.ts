import type { CallbackRequest, CallbackResponse, CallbackResult, Receipt } from '../channel.ts'
import { readTaskId } from '../shared/identifiers.ts'
import { reason } from '../shared/reason.ts'

const events: Readonly<Record<string, Pick<Receipt, 'event' | 'reason'>>> = {
  push_arrive: { event: 'received' },
  regid_invalid: { event: 'gone', reason: reason('oppo', 'regid_invalid', 'regid_invalid') },
  user_daily_limit: { event: 'dropped', reason: reason('oppo', 'user_daily_limit', 'user_daily_limit') },
}

const received: CallbackResponse = { status: 200, contentType: 'text/plain', body: '' }
const refused: CallbackResponse = { status: 400, contentType: 'text/plain', body: '' }

/**
 * A JSON array of events. Receipts are unsigned: the URL is the secret. An item whose `param` is not a task id belongs to another
 * sender. `appId` is not compared: its form differs between old and new applications, and from that of the console.
 */
export function readCallback(request: CallbackRequest): CallbackResult {
  const items = parseArray(request.body.toString('utf8'))
  if (!items) return { ok: false, problem: 'the body is not a JSON array', response: refused }
  return { ok: true, receipts: items.flatMap(readItem), response: received }
}

function readItem(item: unknown): Receipt[] {
  if (typeof item !== 'object' || item === null) return []
  const { eventType, registrationIds, param } = item as Record<string, unknown>
  const event = Object.hasOwn(events, String(eventType)) ? events[String(eventType)] : undefined
  const taskId = readTaskId(param)
  if (!event || taskId === undefined || typeof registrationIds !== 'string') return []
  return registrationIds
    .split(',')
    .map((token) => token.trim())
    .filter(Boolean)
    .map((token) => ({ taskId, token, ...event }))
}

function parseArray(text: string): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
