import { parseVerbatim } from '@herald/domain'
import type { CallbackAnswer, CallbackReading, CallbackRequest, Receipt } from '../channel.ts'
import { parseObject } from '../shared/http.ts'
import { readTaskId } from '../shared/task-id.ts'

/** Reasons of a message that did not arrive which say that the token itself is dead. */
const deadTokenCodes: ReadonlySet<string> = new Set(['2183', '20001', '20002'])
/** Other known reasons; vivo's text does not name the field that carries them, so they are looked for in all. */
const reasonCodes: ReadonlySet<string> = new Set([
  ...['101', '103', '104', '1000', '1017', '1020', '1040', '2124', '2144', '2158', '2161', '2162'],
  ...['10012', '11001', '12000', '20006'],
])

/**
 * `{"<vivo's task id>": {targets, param, ackTime, ackType}}`, any number of entries. vivo does not sign receipts: the
 * unguessable address is the proof. `param` is our task id; an entry with another text there is not of our making.
 */
export function readCallback(request: CallbackRequest): CallbackReading {
  const entries = readEntries(request.body)
  if (!entries) return { ok: false, problem: 'the body is not a JSON object', answer: answer(400, 1) }
  return { ok: true, receipts: entries.flatMap(readEntry), answer: answer(200, 0) }
}

function readEntry(entry: unknown): Receipt[] {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return []
  const fields = entry as Record<string, unknown>
  const taskId = readTaskId(scalar(fields.param))
  if (taskId === undefined) return []
  const verdict = readVerdict(fields)
  return readTargets(fields.targets).map((token) => ({ taskId, token, ...verdict }))
}

function readVerdict(fields: Record<string, unknown>): Pick<Receipt, 'event' | 'reason'> {
  const ackType = scalar(fields.ackType)
  // The older form has no ackType at all and is only ever sent for arrivals.
  if (ackType === '0' || ackType === '') return { event: 'received' }
  const { targets: _, param: __, ackTime: ___, ...rest } = fields
  const words = Object.values(rest).map(scalar)
  const dead = words.find((word) => deadTokenCodes.has(word))
  if (dead) return { event: 'gone', reason: dead }
  return { event: 'dropped', reason: words.find((word) => reasonCodes.has(word)) ?? `ackType ${ackType}` }
}

function readTargets(targets: unknown): string[] {
  const list = Array.isArray(targets) ? targets.map(scalar) : scalar(targets).split(',')
  return list.map((token) => token.trim()).filter((token) => token !== '')
}

/** Strings and numbers as text; a regId of 23 digits keeps them all. */
function scalar(value: unknown): string {
  if (typeof value === 'string') return value.trim()
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

function readEntries(body: Buffer): unknown[] | undefined {
  const text = body.toString('utf8')
  return parseObject(text) && Object.values(parseVerbatim(text) as object)
}

function answer(status: number, result: number): CallbackAnswer {
  return { status, contentType: 'application/json', body: JSON.stringify({ result }) }
}
