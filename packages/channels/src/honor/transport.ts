import type { Outcome } from '@herald/domain'
import type { MintedSession, Transport, TransportDeps } from '../channel.ts'
import {
  callWithAccessToken,
  readAccessToken,
  requestClientCredentials,
  sessionKey,
} from '../shared/access-token.ts'
import { type HttpReply, joinUrl } from '../shared/http.ts'
import { openHttpClient } from '../shared/http-client.ts'
import { CallRefused, failedCheck, outcomeOfError } from '../shared/outcome.ts'
import { classifyAuth, classifySend } from './classify.ts'
import type { HonorPayload } from './payload.ts'
import type { HonorSettings } from './settings.ts'

/** The current path, and the older one that some gateways still serve. */
const tokenPaths = ['/auth/token', '/auth/realms/developer/protocol/openid-connect/token'] as const

export function openTransport(settings: HonorSettings, deps: TransportDeps): Transport<HonorPayload> {
  const http = openHttpClient(deps)
  const key = sessionKey('oauth', settings.clientId, settings.clientSecret)
  const sendUrl = joinUrl(deps.urls.honor, `/api/v1/${settings.appId}/sendMessage`)

  return {
    async send(payload, recipients, { signal, report }) {
      // A token listed twice would be notified twice.
      const byToken = Map.groupBy(recipients.keys(), (index) => recipients[index]!.token)
      const outcomeOf = await outcomesOf(payload, [...byToken.keys()], signal)
      for (const [token, indexes] of byToken) for (const index of indexes) report(index, outcomeOf(token))
    },
    /** Honor cannot validate a request without sending it, so only the access token is checked. */
    async check(signal) {
      try {
        await mint(signal)
        return { ok: true }
      } catch (error) {
        return failedCheck('Honor', outcomeOfError(error))
      }
    },
    close: () => http.close(),
  }

  async function outcomesOf(
    payload: HonorPayload,
    tokens: readonly string[],
    signal: AbortSignal,
  ): Promise<(token: string) => Outcome> {
    try {
      const call = async (accessToken: string) => {
        const result = classifySend(await post(accessToken, payload, tokens, signal), deps.now())
        return { result, tokenRefused: result.tokenRefused }
      }
      return (await callWithAccessToken(deps.session, key, () => mint(), signal, call)).outcomeOf
    } catch (error) {
      const outcome = outcomeOfError(error)
      return () => outcome
    }
  }

  function post(
    accessToken: string,
    payload: HonorPayload,
    tokens: readonly string[],
    signal: AbortSignal,
  ): Promise<HttpReply> {
    return http.call({
      url: sendUrl,
      headers: {
        authorization: `Bearer ${accessToken}`,
        timestamp: String(deps.now()),
        'content-type': 'application/json; charset=UTF-8',
      },
      body: JSON.stringify({ ...payload, token: tokens }),
      signal,
    })
  }

  async function mint(signal?: AbortSignal): Promise<MintedSession> {
    const request = (path: string) => {
      const url = joinUrl(deps.urls.honorAuth, path)
      return requestClientCredentials(http, url, settings.clientId, settings.clientSecret, signal)
    }
    let reply = await request(tokenPaths[0])
    if (reply.status === 404) reply = await request(tokenPaths[1])
    const minted = readAccessToken(reply, deps.now())
    if (!minted) throw new CallRefused(classifyAuth(reply, deps.now()))
    return minted
  }
}
