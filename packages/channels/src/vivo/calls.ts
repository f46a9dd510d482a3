import type { MintedSession, TransportDeps } from '../channel.ts'
import { joinUrl, openHttpClient } from '../shared/http.ts'
import { CallRefused, callWithPass, passKey, rememberPass } from '../shared/pass.ts'
import { authExpired, clockRefused, isReply, outcomeOfResult, readReply, type VivoReply } from './classify.ts'
import { authBody } from './requests.ts'
import type { VivoSettings } from './settings.ts'

/** vivo's tokens live for a day; it advises to renew them every one or two hours. */
const renewMs = 2 * 3_600_000
const lifeMs = 23 * 3_600_000

type VivoCalls = {
  /** A call with the shared authToken. Throws CallRefused when there is no token or the answer cannot be read. */
  ask(path: string, body: object, signal: AbortSignal): Promise<VivoReply>
  /** Asks for a token and forgets it; throws CallRefused when there is none. */
  authenticate(signal?: AbortSignal): Promise<string>
  close(): Promise<void>
}

export function openCalls(settings: VivoSettings, deps: TransportDeps): VivoCalls {
  const http = openHttpClient(deps)
  const session = rememberPass(deps)
  const key = passKey('auth', String(settings.appId), settings.appKey, settings.appSecret)

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
    if (!isReply(reading)) throw new CallRefused(reading)
    if (reading.result !== 0) throw new CallRefused(outcomeOfResult(reading, deps.now()))
    if (!reading.authToken) throw new CallRefused({ kind: 'unavailable', reason: 'auth answered no token' })
    return reading.authToken
  }

  async function mint(): Promise<MintedSession> {
    const value = await authenticate()
    return { value, renewAt: deps.now() + renewMs, expiresAt: deps.now() + lifeMs }
  }

  return {
    authenticate,
    ask: (path, body, signal) =>
      callWithPass<VivoReply>(session, key, mint, signal, async (authToken) => {
        const { reading } = await post(path, body, signal, authToken)
        if (!isReply(reading)) throw new CallRefused(reading)
        return reading.result === authExpired ? { refresh: reading } : { done: reading }
      }),
    close: () => http.close(),
  }
}
