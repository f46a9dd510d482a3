import { createHash } from 'node:crypto'
import type { Outcome } from '@herald/domain'
import type { MintedSession, TransportDeps } from '../channel.ts'
import { type HttpClient, type HttpReply, outcomeOfFailure, parseObject, TransportFailure } from './http.ts'

/** The vendor did not give what a send needs first, such as an access token; the outcome says what that means for its recipients. */
export class CallRefused extends Error {
  readonly outcome: Outcome
  constructor(outcome: Outcome) {
    super('reason' in outcome ? outcome.reason : outcome.kind)
    this.outcome = outcome
  }
}

/** What a call that threw means for its recipients; an abort is thrown on, so that they stay unreported. */
export function outcomeOfThrown(error: unknown): Outcome {
  return error instanceof CallRefused ? error.outcome : outcomeOfFailure(error)
}

/**
 * Names a pass after the credential it is minted with. A record that gets another one must never be served with the former
 * one's pass, which a worker that has not heard of the change may still be minting.
 */
export function passKey(kind: string, ...credential: string[]): string {
  const digest = createHash('sha256').update(credential.join('\n')).digest('hex')
  return `${kind} ${digest.slice(0, 16)}`
}

/** How long a pass serves this process before the shared one is asked for again. */
const rememberedMs = 30_000

/**
 * The shared session of a transport's one pass, asked less often: it costs a query, and a refusal tells soon enough that a pass
 * has ended.
 */
export function rememberPass({
  session,
  now,
}: Pick<TransportDeps, 'session' | 'now'>): TransportDeps['session'] {
  let kept: { value: string; until: number } | undefined
  return async (key, mint, stale) => {
    if (kept && kept.value !== stale && now() < kept.until) return kept.value
    const value = await session(key, mint, stale)
    kept = { value, until: now() + rememberedMs }
    return value
  }
}

/** What a call made of an answer: done, or "this pass has run out", with what it means if a new pass fares no better. */
export type PassVerdict<Done> = { done: Done } | { refresh: Done }

/**
 * Calls with the shared pass; when the vendor refuses it, takes a new one once and calls once more. Minting is shared with
 * other callers, so it is not aborted with one of them: waiting for it is.
 */
export async function callWithPass<Done>(
  session: TransportDeps['session'],
  key: string,
  mint: () => Promise<MintedSession>,
  signal: AbortSignal,
  call: (pass: string) => Promise<PassVerdict<Done>>,
): Promise<Done> {
  const pass = await untilAborted(session(key, mint), signal)
  const first = await call(pass)
  if ('done' in first) return first.done
  const second = await call(await untilAborted(session(key, mint, pass), signal))
  return 'done' in second ? second.done : second.refresh
}

/** Asks for an access token by OAuth 2.0 client credentials (RFC 6749, section 4.4). */
export function requestClientCredentials(
  http: HttpClient,
  url: string,
  clientId: string,
  clientSecret: string,
  signal?: AbortSignal,
): Promise<HttpReply> {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  })
  return http.call({
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
    signal,
  })
}

/** The token of a good answer, to be renewed five minutes before its end; undefined when the answer holds none. */
export function readAccessToken(reply: HttpReply, nowMs: number): MintedSession | undefined {
  if (reply.status < 200 || reply.status > 299) return undefined
  const body = parseObject(reply.text)
  const value = body?.access_token
  if (typeof value !== 'string' || value === '') return undefined
  const named = Number(body?.expires_in)
  const lifeMs = (Number.isFinite(named) && named > 0 ? named : 3600) * 1000
  // A life shorter than ten minutes would otherwise be renewed on every send.
  const renewMs = Math.max(lifeMs - 300_000, lifeMs / 2)
  return { value, renewAt: nowMs + renewMs, expiresAt: nowMs + lifeMs }
}

export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new TransportFailure('aborted', 'the send was stopped'))
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
