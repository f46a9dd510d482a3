import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Lines } from '../route.ts'
import { setCommonHeaders } from './common-headers.ts'

/** Lines are of one snapshot. While it is open, Postgres keeps every row version that was replaced since, in all tables. */
const MAX_MS = 15 * 60_000

/**
 * Sends lines as fast as the caller reads them: the next part is asked for when the one before has left. A caller that goes away, or reads
 * nothing until the timeout of the server, ends them, and so does `limit`. An error before the first part is answered as usual; later the
 * connection is cut, so that the caller sees that the end is missing.
 */
export async function sendLines(
  response: ServerResponse,
  lines: Lines,
  limit: AbortSignal = AbortSignal.timeout(MAX_MS),
): Promise<void> {
  const gone = new AbortController()
  const onClose = () => gone.abort()
  response.once('close', onClose)
  const cut = () => response.destroy()
  limit.addEventListener('abort', cut)
  try {
    for await (const part of lines) {
      if (response.destroyed) return
      if (!response.headersSent) {
        setCommonHeaders(response)
        response.writeHead(200, {
          'content-type': 'application/x-ndjson; charset=utf-8',
          'cache-control': 'no-store',
        })
      }
      if (part !== '' && !response.write(part)) await once(response, 'drain', { signal: gone.signal })
    }
    response.end()
  } catch (error) {
    if (!gone.signal.aborted) throw error
  } finally {
    response.off('close', onClose)
    limit.removeEventListener('abort', cut)
  }
}
