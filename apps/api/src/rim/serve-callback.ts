import type { IncomingMessage, ServerResponse } from 'node:http'
import { Failure } from '../codes.ts'
import type { CallbackDesk } from '../receipts/callback-desk.ts'
import { MIB } from '../route.ts'
import { readBody } from './body.ts'

/** A vendor's receipts, JSON or form: no headers of ours, an answer in the vendor's own form. */
export async function serveCallback(
  desk: CallbackDesk,
  address: { channel: string; appId: string; key: string },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await readBody(request, 4 * MIB)
  const answer = await desk.take(
    address,
    {
      headers: flat(request.headers),
      query: Object.fromEntries(new URL(request.url ?? '/', 'http://callback').searchParams),
      body,
      now: Date.now(),
    },
    String(response.getHeader('x-request-id')),
  )
  if (!answer) throw new Failure(40401, 'There is nothing at this address.')
  response
    .writeHead(answer.status, { 'content-type': answer.contentType, 'cache-control': 'no-store' })
    .end(answer.body)
}

function flat(headers: IncomingMessage['headers']): Record<string, string> {
  const result: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) result[name] = Array.isArray(value) ? value.join(', ') : value
  return result
}
