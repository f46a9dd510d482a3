import { parseVerbatim } from '@herald/domain'
import type { CallbackRequest, CallbackResponse, CallbackResult, Receipt } from '../channel.ts'
import { parseObject } from '../shared/http.ts'
import { readTaskId } from '../shared/identifiers.ts'
import { reason } from '../shared/reason.ts'

/** Reasons of an undelivered message that mean that the token is dead. */
const deadTokenCodes: ReadonlySet<string> = new Set(['2183', '20001', '20002'])
/** Other known reasons. vivo does not document in which field they are, so all fields are searched. */
const reasonCodes: ReadonlySet<string> = new Set([
  ...['101', '103', '104', '1000', '1017', '1020', '1040', '2124', '2144', '2158', '2161', '2162'],
  ...['10012', '11001', '12000', '20006'],
])

/**
 * `{"<vivo's task id>": {targets, param, ackTime, ackType}}`, any number of entries. Receipts are unsigned: the URL is the secret.
 * An entry whose `param` is not a task id belongs to another sender.
 */
export function readCallback(request: CallbackRequest): CallbackResult {
  const entries = readEntries(request.body)
  if (!entries) return { ok: false, problem: 'the body is not a JSON object', response: response(400, 1) }
  return { ok: true, receipts: entries.flatMap(readEntry), response: response(200, 0) }
}

function readEntry(entry: unknown): Receipt[] {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return []
  const fields = entry as Record<string, unknown>
  const taskId = readTaskId(scalar(fields.param))
  if (taskId === undefined) return []
  const event = readEvent(fields)
  return readTargets(fields.targets).map((token) => ({ taskId, token, ...event }))
}

function readEvent(fields: Record<string, unknown>): Pick<Receipt, 'event' | 'reason'> {
  const ackType = scalar(fields.ackType)
  // The older form has no ackType and is sent for deliveries only.
  if (ackType === '0' || ackType === '') return { event: 'received' }
  const { targets: _, param: __, ackTime: ___, ...rest } = fields
  const values = Object.values(rest).map(scalar)
  const dead = values.find((value) => deadTokenCodes.has(value))
  if (dead) return { event: 'gone', reason: reason('vivo', dead, 'the token is dead') }
  const code = values.find((value) => reasonCodes.has(value)) ?? `ackType_${ackType}`
  return { event: 'dropped', reason: reason('vivo', code, 'not delivered') }
}

function readTargets(targets: unknown): string[] {
  const list = Array.isArray(targets) ? targets.map(scalar) : scalar(targets).split(',')
  return list.map((token) => token.trim()).filter((token) => token !== '')
}

/** Strings and numbers as text; a regId of 23 digits keeps all its digits. */
function scalar(value: unknown): string {
  if (typeof value === 'string') return value.trim()
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

function readEntries(body: Buffer): unknown[] | undefined {
  const text = body.toString('utf8')
  return parseObject(text) && Object.values(parseVerbatim(text) as object)
}

function response(status: number, result: number): CallbackResponse {
  return { status, contentType: 'application/json', body: JSON.stringify({ result }) }
}
