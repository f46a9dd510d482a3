import { createHash } from 'node:crypto'
import type { MintedSession, TransportDeps } from '../channel.ts'
import { joinUrl, openHttpClient } from '../shared/http.ts'
import { callWithPass, PassRefused } from '../shared/pass.ts'
import { authExpired, clockRefused, isReply, outcomeOfResult, readReply, type VivoReply } from './classify.ts'
import { authBody } from './requests.ts'
import type { VivoSettings } from './settings.ts'

/** vivo's tokens live for a day; it advises to renew them every one or two hours. */
const renewMs = 2 * 3_600_000
const lifeMs = 23 * 3_600_000
/** How long a token serves this process before the shared one is asked for again, which costs a query. */
const keptMs = 30_000

export type VivoCalls = {
  /** A call with the shared authToken. Throws PassRefused when there is no token or the answer cannot be read. */
  ask(path: string, body: object, signal: AbortSignal): Promise<VivoReply>
  /** Asks for a token and forgets it; throws PassRefused when there is none. */
  authenticate(signal?: AbortSignal): Promise<string>
  close(): Promise<void>
}

export function openCalls(settings: VivoSettings, deps: TransportDeps): VivoCalls {
  const http = openHttpClient(deps)
  const passName = nameOf(settings)
  let kept: { value: string; until: number } | undefined

  async function post(path: string, body: object, signal?: AbortSignal, authToken?: string) {
    const reply = await http.call({
      url: joinUrl(deps.urls.vivo, path),
      headers: { 'content-type': 'application/json', ...(authToken ? { authToken } : {}) },
      body: JSON.stringify(body),
      signal,
    })
    return { reading: readReply(reply, deps.now()), date: Date.parse(reply.headers.date ?? '') }
  }

  async function authenticate(signal?: AbortSignal): Promise<string> {
    let { reading, date } = await post('/message/auth', authBody(settings, deps.now()), signal)
    // A server whose clock is off can still sign with vivo's own time, which its answers carry.
    if (isReply(reading) && reading.result === clockRefused) {
      const timestamp = Number.isNaN(date) ? deps.now() : date
      reading = (await post('/message/auth', authBody(settings, timestamp), signal)).reading
    }
    if (!isReply(reading)) throw new PassRefused(reading)
    if (reading.result !== 0) throw new PassRefused(outcomeOfResult(reading, deps.now()))
    if (!reading.authToken) throw new PassRefused({ kind: 'unavailable', reason: 'auth answered no token' })
    return reading.authToken
  }

  async function mint(): Promise<MintedSession> {
    const value = await authenticate()
    return { value, renewAt: deps.now() + renewMs, expiresAt: deps.now() + lifeMs }
  }

  const session: TransportDeps['session'] = async (key, mint, stale) => {
    if (kept && kept.value !== stale && deps.now() < kept.until) return kept.value
    const value = await deps.session(key, mint, stale)
    kept = { value, until: deps.now() + keptMs }
    return value
  }

  return {
    authenticate,
    ask: (path, body, signal) =>
      callWithPass<VivoReply>(session, passName, mint, signal, async (authToken) => {
        const { reading } = await post(path, body, signal, authToken)
        if (!isReply(reading)) throw new PassRefused(reading)
        return reading.result === authExpired ? { refresh: reading } : { done: reading }
      }),
    close: () => http.close(),
  }
}

/** Names the key itself: a certificate that gets another one must not be served with the former one's token. */
function nameOf({ appId, appKey, appSecret }: VivoSettings): string {
  const digest = createHash('sha256').update(`${appId} ${appKey} ${appSecret}`).digest('hex')
  return `auth-${digest.slice(0, 16)}`
}
