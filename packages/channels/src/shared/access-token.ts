import { createHash } from 'node:crypto'
import type { MintedSession, TransportDeps } from '../channel.ts'
import { untilAborted } from './abort.ts'
import { type HttpReply, parseObject } from './http.ts'
import type { HttpClient } from './http-client.ts'

/**
 * Returns the session key of an access token. It depends on the credential, so that a certificate with a changed credential never
 * gets the token of the old one, which a worker that does not know of the change may still be requesting.
 */
export function sessionKey(kind: string, ...credential: string[]): string {
  return `${kind} ${digestOf(credential).slice(0, 16)}`
}

/**
 * The same for a token that all certificates with this credential share. The whole digest: applications of others share the table, and
 * with a shorter one somebody could search for a credential with the same key.
 */
export function sharedSessionKey(kind: string, ...credential: string[]): string {
  return `${kind} ${digestOf(credential)}`
}

function digestOf(credential: readonly string[]): string {
  return createHash('sha256').update(credential.join('\n')).digest('hex')
}

const cacheMs = 30_000

/**
 * Caches the one access token of a transport: reading the shared session costs a query per call, and a refusal by the vendor
 * shows soon enough that the token has ended.
 */
export function cacheSession({
  session,
  now,
}: Pick<TransportDeps, 'session' | 'now'>): TransportDeps['session'] {
  let cached: { value: string; until: number } | undefined
  return async (key, mint, stale) => {
    if (cached && cached.value !== stale && now() < cached.until) return cached.value
    const value = await session(key, mint, stale)
    cached = { value, until: now() + cacheMs }
    return value
  }
}

/**
 * Calls with the shared access token; if the vendor refuses it, gets a new one and calls once more. Requesting a token is shared
 * with other callers, so `signal` ends only the wait for it, not the request.
 */
export async function callWithAccessToken<T>(
  session: TransportDeps['session'],
  key: string,
  mint: () => Promise<MintedSession>,
  signal: AbortSignal,
  call: (token: string) => Promise<{ result: T; tokenRefused: boolean }>,
): Promise<T> {
  const token = await untilAborted(session(key, mint), signal)
  const first = await call(token)
  if (!first.tokenRefused) return first.result
  const { result } = await call(await untilAborted(session(key, mint, token), signal))
  return result
}

/** Requests an access token with OAuth 2.0 client credentials (RFC 6749, section 4.4). */
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

/** Returns the token of a successful reply, to be renewed five minutes before it expires; undefined if there is none. */
export function readAccessToken(reply: HttpReply, nowMs: number): MintedSession | undefined {
  if (reply.status < 200 || reply.status > 299) return undefined
  const body = parseObject(reply.text)
  const value = body?.access_token
  if (typeof value !== 'string' || value === '') return undefined
  const seconds = Number(body?.expires_in)
  const lifeMs = (Number.isFinite(seconds) && seconds > 0 ? seconds : 3600) * 1000
  // A token with a life below ten minutes would otherwise be renewed on every send.
  const renewMs = Math.max(lifeMs - 300_000, lifeMs / 2)
  return { value, renewAt: nowMs + renewMs, expiresAt: nowMs + lifeMs }
}
