import type { CallbackAnswer, CallbackReading, CallbackRequest, Receipt } from '../channel.ts'
import { readTaskId } from '../shared/task-id.ts'
import type { OppoSettings } from './settings.ts'

const events: Readonly<Record<string, Pick<Receipt, 'event' | 'reason'>>> = {
  push_arrive: { event: 'received' },
  regid_invalid: { event: 'gone', reason: 'regid_invalid' },
  user_daily_limit: { event: 'dropped', reason: 'user_daily_limit' },
}

const received: CallbackAnswer = { status: 200, contentType: 'text/plain', body: '' }
const refused: CallbackAnswer = { status: 400, contentType: 'text/plain', body: '' }

/**
 * A JSON array of events. Receipts are unsigned: the address is the secret, and an item of another application or whose `param`
 * is not a task id is somebody else's.
 */
export function readCallback(request: CallbackRequest, settings: OppoSettings): CallbackReading {
  const items = parseArray(request.body.toString('utf8'))
  if (!items) return { ok: false, problem: 'the body is not a JSON array', answer: refused }
  return { ok: true, receipts: items.flatMap((item) => readItem(item, settings)), answer: received }
}

function readItem(item: unknown, { appId: ownAppId }: OppoSettings): Receipt[] {
  if (typeof item !== 'object' || item === null) return []
  const { eventType, registrationIds, param, appId } = item as Record<string, unknown>
  const event = Object.hasOwn(events, String(eventType)) ? events[String(eventType)] : undefined
  const taskId = readTaskId(param)
  const isForeign = ownAppId !== '' && appId !== undefined && String(appId) !== ownAppId
  if (!event || taskId === undefined || isForeign || typeof registrationIds !== 'string') return []
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
