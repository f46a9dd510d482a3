import { ownReasons } from '@herald/domain'
import type { MintedSession, TransportDeps } from '../channel.ts'
import { cacheSession, callWithAccessToken, sessionKey } from '../shared/access-token.ts'
import { joinUrl } from '../shared/http.ts'
import { openHttpClient } from '../shared/http-client.ts'
import { CallRefused } from '../shared/outcome.ts'
import {
  clockRefused,
  isReply,
  outcomeOfResult,
  pushDisabled,
  readReply,
  tokenRefused,
  type VivoReply,
} from './classify.ts'
import { authBody } from './requests.ts'
import type { VivoSettings } from './settings.ts'

/** A token lives for a day; vivo recommends to renew it every one or two hours. */
const renewMs = 2 * 3_600_000
const lifeMs = 23 * 3_600_000

const noToken = ownReasons.vendor_reply_unreadable('the auth reply has no token')

type VivoCalls = {
  /** Calls with the shared authToken. Throws CallRefused when there is no token or the reply is unreadable. */
  call(path: string, body: object, signal: AbortSignal): Promise<VivoReply>
  /** Requests a token without storing it; throws CallRefused when there is none or push is disabled. Sends nothing. */
  probe(signal: AbortSignal): Promise<void>
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
    const read = readReply(reply, deps.now())
    return { read, status: reply.status, date: Date.parse(reply.headers.date ?? '') }
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

  async function call(path: string, body: object, signal: AbortSignal): Promise<VivoReply> {
    const read = await callWithAccessToken(session, key, mint, signal, async (authToken) => {
      const { read: result, status } = await post(path, body, signal, authToken)
      const isRefused = isReply(result) ? tokenRefused.has(result.result) : status === 401
      return { result, tokenRefused: isRefused }
    })
    if (!isReply(read)) throw new CallRefused(read)
    return read
  }

  async function probe(signal: AbortSignal): Promise<void> {
    const authToken = await authenticate(signal)
    // Auth succeeds for an application whose push is disabled. Any other reply to this question says nothing about the credentials.
    const reply = await http
      .call({
        method: 'GET',
        url: joinUrl(deps.urls.vivo, '/report/getStatistics?taskIds=1'),
        headers: { authToken },
        signal,
      })
      .catch(() => undefined)
    const read = reply && readReply(reply, deps.now())
    if (read && isReply(read) && read.result === pushDisabled)
      throw new CallRefused(outcomeOfResult(read, deps.now()))
  }

  return { call, probe, close: () => http.close() }
}
