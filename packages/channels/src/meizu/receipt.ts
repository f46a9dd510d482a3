import { createHash, timingSafeEqual } from 'node:crypto'
import type { CallbackRequest, CallbackResponse, CallbackResult, Receipt } from '../channel.ts'
import { parseObject } from '../shared/http.ts'
import { readTaskId } from '../shared/identifiers.ts'
import type { MeizuSettings } from './settings.ts'

/** Meizu sends a receipt only once, whatever the response, and documents no response body. */
const received: CallbackResponse = { status: 200, contentType: 'text/plain', body: '' }
const malformed: CallbackResponse = { status: 400, contentType: 'text/plain', body: '' }
const refused: CallbackResponse = { status: 403, contentType: 'text/plain', body: '' }

const events: ReadonlyMap<string, Receipt['event']> = new Map([
  ['1', 'received'],
  ['2', 'clicked'],
])

/**
 * A form with `cb`, a JSON object with keys `msgId-type`, and the `access_token` from the console. The same object as a plain JSON
 * body occurs too; its token may be in the query.
 */
export function readCallback(request: CallbackRequest, settings: MeizuSettings): CallbackResult {
  const body = request.body.toString('utf8')
  const plain = parseObject(body)
  const form = plain ? undefined : new URLSearchParams(body)
  const token = form?.get('access_token') ?? text(plain?.access_token) ?? request.query.access_token ?? ''
  if (settings.receiptToken && !isSame(token, settings.receiptToken))
    return { ok: false, problem: 'the access_token differs from extra.receipt_token', response: refused }
  const items = plain ? (inner(plain.cb) ?? plain) : parseObject(form?.get('cb') ?? '')
  if (!items) return { ok: false, problem: 'cb is missing or not a JSON object', response: malformed }
  return { ok: true, receipts: Object.entries(items).flatMap(readItem), response: received }
}

function readItem([key, item]: [string, unknown]): Receipt[] {
  if (typeof item !== 'object' || item === null) return []
  const { type, targets, param } = item as Record<string, unknown>
  const event = events.get(String(type ?? key.slice(key.lastIndexOf('-') + 1)))
  const taskId = readTaskId(param)
  if (!event || taskId === undefined || !Array.isArray(targets)) return []
  return targets.flatMap((token) => (typeof token === 'string' && token ? [{ taskId, token, event }] : []))
}

function inner(cb: unknown): Record<string, unknown> | undefined {
  if (typeof cb === 'string') return parseObject(cb)
  return typeof cb === 'object' && cb !== null && !Array.isArray(cb)
    ? (cb as Record<string, unknown>)
    : undefined
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Compares digests: timingSafeEqual needs equal lengths, and the length must not leak either. */
function isSame(given: string, expected: string): boolean {
  const digest = (value: string) => createHash('sha256').update(value).digest()
  return timingSafeEqual(digest(given), digest(expected))
}
