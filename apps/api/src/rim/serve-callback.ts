import type { IncomingMessage, ServerResponse } from 'node:http'
import { MIB } from '../body-size.ts'
import { Failure } from '../codes.ts'
import type { CallbackDesk } from '../receipts/callback-desk.ts'
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
      query: queryOf(request.url ?? ''),
      body,
      now: Date.now(),
    },
    String(response.getHeader('x-request-id')),
  )
  if (!answer) throw new Failure(40401, 'There is nothing at this address.')
  response
    .writeHead(answer.status, {
      'content-type': answer.contentType,
      'content-length': Buffer.byteLength(answer.body),
      'cache-control': 'no-store',
    })
    .end(answer.body)
}

/** Without U+0000, which Postgres cannot hold: one such callback would fail all that are stored together with it. */
function queryOf(url: string): Record<string, string> {
  const pairs = new URLSearchParams(url.slice(url.indexOf('?') + 1 || url.length))
  return Object.fromEntries([...pairs].map((pair) => pair.map((text) => text.replaceAll('\0', ''))))
}

function flat(headers: IncomingMessage['headers']): Record<string, string> {
  const result: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) result[name] = Array.isArray(value) ? value.join(', ') : value
  return result
}
