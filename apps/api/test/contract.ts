import { z } from 'zod'
import { codes, statusOf } from '../src/codes.ts'
import { codesOf, type Operation, openApiDocument } from '../src/openapi/document.ts'

type Envelope = { code: number; data: unknown; message: string | null }

const document = openApiDocument()
const compiled = new Map<string, z.ZodType>()

/** The schema of an answer according to the document, not the handler. */
function schemaFor({ operationId, responses }: Operation): z.ZodType {
  const known = compiled.get(operationId)
  if (known) return known
  const { content } = responses['200'] as { content: Record<string, { schema: object }> }
  const schema = z.fromJSONSchema(widened(content['application/json']!.schema) as never)
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
  const operation = document.paths[path]?.[method.toLowerCase()]
  if (!operation) return envelope
  if (envelope.code === 200) {
    const read = schemaFor(operation).safeParse(envelope)
    if (!read.success) throw problem(`is outside the document: ${z.prettifyError(read.error)}`)
  } else if (!codesOf(operation).some((code) => code === envelope.code))
    throw problem('has a code that the document does not give this call')
  return envelope
}
