import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { CallRefused, checkAddress, connectTo, type GuardOptions } from './check-address.ts'
import { signedHeaders } from './sign-webhook.ts'

/** `error` is set if there was no answer: a sentence without the full stop. */
export type PostResult = {
  status?: number
  error?: string
  /** Seconds, if the answer asks to wait. */
  retryAfter?: number
}

export type WebhookPoster = {
  /** Signs and sends; never rejects. */
  post(message: { url: string; secret: string; id: string; body: Buffer }): Promise<PostResult>
  close(): void
}

const LIMIT_MS = 15_000
/** The rest of an answer is not read. */
const MAX_ANSWER = 64 * 1024

/**
 * Sends the requests of one webhook, one after another. The name is resolved and checked for each request; the connection of the request
 * before is used again only if the name leads to the same addresses. Redirects are not followed.
 */
export function createWebhookPoster(options: GuardOptions & { limitMs?: number } = {}): WebhookPoster {
  const { limitMs = LIMIT_MS, ...guard } = options
  let kept: { key: string; agent: HttpAgent } | undefined

  function agentFor(protocol: string, addresses: readonly string[]): HttpAgent {
    // Sorted, because a resolver may return the same addresses in another order each time.
    const key = [protocol, ...addresses.toSorted()].join(' ')
    if (kept?.key === key) return kept.agent
    kept?.agent.destroy()
    const settings = { keepAlive: true, maxSockets: 1 }
    kept = { key, agent: protocol === 'https:' ? new HttpsAgent(settings) : new HttpAgent(settings) }
    return kept.agent
  }

  function send(
    url: URL,
    addresses: readonly string[],
    headers: Record<string, string | number>,
    body: Buffer,
    signal: AbortSignal,
  ): Promise<PostResult> {
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest
    const agent = agentFor(url.protocol, addresses)
    return new Promise((resolve, reject) => {
      let result: PostResult | undefined
      const call = request(url, { method: 'POST', headers, signal, agent, ...connectTo(addresses) })
      call.on('error', (error: NodeJS.ErrnoException) => {
        // It answered without reading the whole request.
        if (result) resolve(result)
        // The server closed the connection while it was idle, so it has not read the request.
        else if (call.reusedSocket && error.code === 'ECONNRESET' && !signal.aborted)
          resolve(send(url, addresses, headers, body, signal))
        else reject(error)
      })
      call.on('response', (response) => {
        const answer: PostResult = { status: response.statusCode }
        result = answer
        const retryAfter = Number(response.headers['retry-after'])
        if (retryAfter > 0) answer.retryAfter = retryAfter
        let read = 0
        // The status decides. The rest is read so that the connection can be used again.
        response.on('data', (chunk: Buffer) => {
          read += chunk.length
          if (read > MAX_ANSWER) response.destroy()
        })
        response.on('close', () => resolve(answer))
        response.on('error', () => resolve(answer))
      })
      call.end(body)
    })
  }

  return {
    async post({ url: address, secret, id, body }) {
      const signal = AbortSignal.timeout(limitMs)
      try {
        const url = new URL(address)
        if (url.protocol !== 'https:' && url.protocol !== 'http:')
          return { error: 'the url must begin with https:// or http://' }
        const checked = await checkAddress(url.hostname, guard, signal)
        const headers = {
          'content-type': 'application/json',
          'content-length': body.length,
          'user-agent': 'Herald',
          ...signedHeaders(secret, id, body, Math.floor(Date.now() / 1000)),
        }
        return await send(url, checked, headers, body, signal)
      } catch (error) {
        if (error instanceof CallRefused) return { error: `the url ${error.message}` }
        if (signal.aborted) return { error: `no answer within ${limitMs / 1000} s` }
        const { code, message } = error as NodeJS.ErrnoException
        return { error: `the request failed (${code ?? message})` }
      }
    },
    close() {
      kept?.agent.destroy()
      kept = undefined
    },
  }
}
