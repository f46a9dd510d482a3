import type { IncomingMessage, ServerResponse } from 'node:http'
import { callerAddress } from '@herald/program'
import { Failure } from '../codes.ts'
import type { ApiDeps } from '../deps.ts'
import type { CallbackAddress } from '../receipts/find-certificate.ts'
import { MIB } from '../route.ts'
import { readBody } from './body.ts'
import { checkLimited } from './check-limited.ts'
import { requestIdIn } from './common-headers.ts'

/**
 * Serves a vendor's callback: no app_id or access token, and the answer has the vendor's format. The body is read only if the
 * address exists, and counts as held until the callback is stored.
 */
export async function serveCallback(
  deps: ApiDeps,
  target: CallbackAddress,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { callbacks, limits, bodies } = deps
  const address = callerAddress(request, deps.trustedProxies)
  const certificateId = await checkLimited(limits, address, {
    isFree: callbacks.isCached(target),
    run: () => callbacks.find(target),
  })
  if (certificateId === undefined) throw missing()
  const share = bodies.callback.open(address)
  try {
    const body = await readBody(request, 4 * MIB, { share })
    const answer = await callbacks.handle(
      certificateId,
      { headers: flat(request.headers), query: queryOf(request.url ?? ''), body, now: Date.now() },
      requestIdIn(response),
    )
    if (!answer) throw missing()
    response
      .writeHead(answer.status, {
        'content-type': answer.contentType,
        'content-length': Buffer.byteLength(answer.body),
        'cache-control': 'no-store',
      })
      .end(answer.body)
  } finally {
    share.close()
  }
}

const missing = () => new Failure(40401, 'This callback address does not exist.')

/** Removes U+0000, which Postgres cannot store: it would fail all callbacks of the same statement. */
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
