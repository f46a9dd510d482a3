import { eachConcurrently } from '@herald/async'
import { ownReasons, type Reason } from '@herald/domain'
import type { TransportDeps } from '../channel.ts'
import { retryAfterSeconds, TransportFailure } from '../shared/http.ts'
import { openHttpClient } from '../shared/http-client.ts'
import { outcomeOfError } from '../shared/outcome.ts'
import type { FcmCall } from './call.ts'

/** Requests at a time, each over a connection of its own. Others wait here: in the client they would use up their time limit. */
const maxConcurrent = 32
/**
 * A server that hangs must not block a batch: after this multiple of the timeout, unsent requests return to the runner. The last ones may
 * take one more, and the runner waits for four.
 */
const deadlineFactor = 2
/** As over HTTP/2. */
const maxReplyBytes = 65_536

const stopped = ownReasons.vendor_unreachable('the send was stopped')
const late = ownReasons.vendor_timeout('the request could not be sent within the time limit')

export type Http1Sender = {
  /** Sends the requests of the call with these numbers. */
  post(url: string, headers: Record<string, string>, call: FcmCall, indexes: readonly number[]): Promise<void>
  close(): Promise<void>
}

/** Sends over HTTP/1.1 with keep-alive, for servers and inspecting proxies without HTTP/2. */
export function openHttp1Sender(deps: TransportDeps): Http1Sender {
  const http = openHttpClient({ ...deps, maxBytes: maxReplyBytes })
  const places = openPlaces(maxConcurrent)
  return {
    async post(url, headers, { body, signal, stopSending, onReply, onFailure }, indexes) {
      const deadline = performance.now() + deps.timeoutMs * deadlineFactor
      const send = async (at: number) => {
        if (signal.aborted || stopSending.aborted) return onFailure(at, stopped)
        if (performance.now() >= deadline) return onFailure(at, late)
        const text = body.before + body.slot(at) + body.after
        const reply = await http.call({ url, headers, body: text, signal }).catch(reasonOf)
        if ('code' in reply) return onFailure(at, reply)
        const retryAfter = retryAfterSeconds(reply.headers, deps.now())
        onReply(at, { status: reply.status, body: reply.text, retryAfter })
      }
      await eachConcurrently(indexes, maxConcurrent, (at) => places.use(() => send(at)))
    },
    close: http.close,
  }
}

/** At most `count` pieces of work at a time, over all calls; those that wait begin in their order. */
function openPlaces(count: number) {
  const waiting: (() => void)[] = []
  let free = count
  return {
    async use(work: () => Promise<void>): Promise<void> {
      if (free > 0) free--
      else await new Promise<void>((resolve) => waiting.push(resolve))
      try {
        await work()
      } finally {
        const next = waiting.shift()
        if (next) next()
        else free++
      }
    },
  }
}

function reasonOf(error: unknown): Reason {
  if (error instanceof TransportFailure && error.kind === 'aborted') return stopped
  const outcome = outcomeOfError(error)
  return 'reason' in outcome ? outcome.reason : stopped
}
