import { z } from 'zod'
import { codes, statusOf } from '../src/codes.ts'
import { codesOf, NDJSON, type Operation, operationOf } from '../src/openapi/document.ts'
import { routes } from '../src/routes.ts'

type Envelope = { code: number; data: unknown; message: string | null }

const described = new Map<string, Operation>()
const compiled = new Map<string, z.ZodType>()

/** What the document says about a call. Only calls that a spec file makes are described: the whole document takes 0.1 s. */
function operationFor(method: string, path: string): Operation | undefined {
  const call = `${method} ${path}`
  const known = described.get(call)
  if (known) return known
  const route = routes.find((route) => route.path === path && route.method === method.toLowerCase())
  if (!route) return undefined
  const operation = operationOf(route)
  described.set(call, operation)
  return operation
}

/** The schema of an answer according to the document, not the handler. */
function schemaFor({ operationId, responses }: Operation): z.ZodType {
  const known = compiled.get(operationId)
  if (known) return known
  const { content } = responses['200'] as { content: Record<string, { schema: object }> }
  const answer = content['application/json'] ?? content[NDJSON]
  const schema = z.fromJSONSchema(widened(answer!.schema) as never)
  compiled.set(operationId, schema)
  return schema
}

/** zod's integer is limited to 2^53, an int64 is not. */
function widened(schema: object): object {
  return JSON.parse(JSON.stringify(schema), (_key, value) =>
    value?.format === 'int64' ? { type: 'number' } : value,
  )
}

/** Checks that the envelope is complete, its code matches the status, and the document describes it. */
export function checkAnswer(method: string, url: string, response: Response, text: string): Envelope {
  const path = url.split('?')[0]!
  if (response.headers.get('content-type') === `${NDJSON}; charset=utf-8`)
    return checkLines(method, path, text)
  const envelope = JSON.parse(text) as Envelope
  const problem = (what: string) =>
    new Error(`${method} ${path} ${response.status}: ${what}\n${text.slice(0, 500)}`)
  if (Object.keys(envelope).join() !== 'code,data,message') throw problem('is not an envelope')
  if (envelope.code === 200) {
    if (response.status !== 200 || envelope.message !== null || envelope.data === null)
      throw problem('is no success')
  } else {
    if (!(envelope.code in codes)) throw problem('has a code that the table does not have')
    if (statusOf(envelope.code as keyof typeof codes) !== response.status)
      throw problem('has a code of another status')
    if (envelope.data !== null || typeof envelope.message !== 'string') throw problem('is no failure')
    if (!/^[\w"].*\.$/s.test(envelope.message) || /\bat .+:\d+|Error:/.test(envelope.message))
      throw problem('has a message that is no sentence')
  }
  if (response.headers.get('content-type') !== 'application/json; charset=utf-8') throw problem('is not JSON')
  const operation = operationFor(method, path)
  if (!operation) return envelope
  if (envelope.code === 200) {
    const read = schemaFor(operation).safeParse(envelope)
    if (!read.success) throw problem(`is outside the document: ${z.prettifyError(read.error)}`)
  } else if (!codesOf(operation).some((code) => code === envelope.code))
    throw problem('has a code that the document does not give this call')
  return envelope
}

/** A stream of lines: each must be as the document says. */
function checkLines(method: string, path: string, text: string): Envelope {
  const schema = schemaFor(operationFor(method, path)!)
  if (!text.endsWith('\n')) throw new Error(`${method} ${path}: the last line is incomplete`)
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
  for (const line of lines) {
    const read = schema.safeParse(line)
    if (!read.success) throw new Error(`${method} ${path}: ${z.prettifyError(read.error)}`)
  }
  return { code: 200, data: lines, message: null }
}
