import { ownReasons } from '@herald/domain'
import type { MintedSession, TransportDeps } from '../channel.ts'
import { cacheSession, callWithAccessToken, sessionKey } from '../shared/access-token.ts'
import { joinUrl } from '../shared/http.ts'
import { openHttpClient } from '../shared/http-client.ts'
import { CallRefused } from '../shared/outcome.ts'
import { authExpired, clockRefused, isReply, outcomeOfResult, readReply, type VivoReply } from './classify.ts'
import { authBody } from './requests.ts'
import type { VivoSettings } from './settings.ts'

/** A token lives for a day; vivo recommends to renew it every one or two hours. */
const renewMs = 2 * 3_600_000
const lifeMs = 23 * 3_600_000

const noToken = ownReasons.vendor_reply_unreadable('the auth reply has no token')

type VivoCalls = {
  /** Calls with the shared authToken. Throws CallRefused when there is no token or the reply is unreadable. */
  call(path: string, body: object, signal: AbortSignal): Promise<VivoReply>
  /** Requests a token without storing it; throws CallRefused when there is none. */
  authenticate(signal?: AbortSignal): Promise<string>
  close(): Promise<void>
}

export function openCalls(settings: VivoSettings, deps: TransportDeps): VivoCalls {
  const http = openHttpClient(deps)
  const session = cacheSession(deps)
  const key = sessionKey('auth', String(settings.appId), settings.appKey, settings.appSecret)

  async function post(path: string, body: object, signal?: AbortSignal, authToken?: string) {
    const reply = await http.call({
      url: joinUrl(deps.urls.vivo, path),
      headers: { 'content-type': 'application/json', ...(authToken ? { authToken } : {}) },
      body: JSON.stringify(body),
      signal,
    })
    return { read: readReply(reply, deps.now()), date: Date.parse(reply.headers.date ?? '') }
  }

  async function authenticate(signal?: AbortSignal): Promise<string> {
    let { read, date } = await post('/message/auth', authBody(settings, deps.now()), signal)
    // If our clock is wrong, sign with vivo's time, which its replies contain.
    if (isReply(read) && read.result === clockRefused) {
      const timestamp = Number.isNaN(date) ? deps.now() : date
      read = (await post('/message/auth', authBody(settings, timestamp), signal)).read
    }
    if (!isReply(read)) throw new CallRefused(read)
    if (read.result !== 0) throw new CallRefused(outcomeOfResult(read, deps.now()))
    if (!read.authToken) throw new CallRefused({ kind: 'unavailable', reason: noToken })
    return read.authToken
  }

  async function mint(): Promise<MintedSession> {
    const value = await authenticate()
    return { value, renewAt: deps.now() + renewMs, expiresAt: deps.now() + lifeMs }
  }

  return {
    authenticate,
    call: (path, body, signal) =>
      callWithAccessToken<VivoReply>(session, key, mint, signal, async (authToken) => {
        const { read: result } = await post(path, body, signal, authToken)
        if (!isReply(result)) throw new CallRefused(result)
        return { result, tokenRefused: result.result === authExpired }
      }),
    close: () => http.close(),
  }
}
