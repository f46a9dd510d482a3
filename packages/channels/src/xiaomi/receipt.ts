import type { CallbackAnswer, CallbackReading, CallbackRequest, Receipt } from '../channel.ts'
import { parseObject } from '../shared/http.ts'
import { readTaskId } from '../shared/task-id.ts'

/** Receipt types of Xiaomi's callback documents; others are not subscribed to and are passed over. */
const events: Readonly<Record<number, Pick<Receipt, 'event' | 'reason'>>> = {
  1: { event: 'received' },
  2: { event: 'clicked' },
  16: { event: 'gone', reason: '16 target invalid' },
  32: { event: 'dropped', reason: '32 push disabled in the app' },
  64: { event: 'dropped', reason: '64 device filter not met' },
  128: { event: 'dropped', reason: '128 daily quota exceeded' },
}

/** Xiaomi ignores the body of the answer. */
const received: CallbackAnswer = { status: 200, contentType: 'text/plain', body: '' }
const refused: CallbackAnswer = { status: 400, contentType: 'text/plain', body: '' }

/**
 * A form whose field `data` is a JSON object keyed by message id. Receipts are unsigned: the address is the secret, and an
 * item whose `param` is not a task id is somebody else's.
 */
export function readCallback(request: CallbackRequest): CallbackReading {
  const data = new URLSearchParams(request.body.toString('utf8')).get('data')
  if (data === null) return { ok: false, problem: 'the form has no field data', answer: refused }
  const items = parseObject(data)
  if (!items) return { ok: false, problem: 'the field data is not a JSON object', answer: refused }
  return { ok: true, receipts: Object.values(items).flatMap(readItem), answer: received }
}

function readItem(item: unknown): Receipt[] {
  if (typeof item !== 'object' || item === null) return []
  const { type, targets, param } = item as Record<string, unknown>
  const event = events[Number(type)]
  const taskId = readTaskId(param)
  if (!event || taskId === undefined || typeof targets !== 'string') return []
  return targets
    .split(',')
    .map((token) => token.trim())
    .filter(Boolean)
    .map((token) => ({ taskId, token, ...event }))
}
