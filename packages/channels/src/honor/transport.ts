import type { Outcome } from '@herald/domain'
import type { MintedSession, Transport, TransportDeps } from '../channel.ts'
import {
  callWithAccessToken,
  readAccessToken,
  requestClientCredentials,
  sessionKey,
} from '../shared/access-token.ts'
import { distinctTokens } from '../shared/distinct-tokens.ts'
import { type HttpReply, joinUrl } from '../shared/http.ts'
import { openHttpClient } from '../shared/http-client.ts'
import { CallRefused, failedCheck, outcomeOfError } from '../shared/outcome.ts'
import { sendHalves, wasTooLarge } from '../shared/too-large.ts'
import { classifyAuth, classifySend, refusesCredentials, type SendResult } from './classify.ts'
import { type HonorPayload, withoutPicture } from './payload.ts'
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
      const { tokens: all, reportToken } = distinctTokens(recipients, report)
      /** Returns the outcome of a request that is too large for one token. */
      const sendPart = async (
        tokens: readonly string[],
        body: HonorPayload = payload,
      ): Promise<Outcome | undefined> => {
        const { outcomeOf, formRefused } = await sendOnce(body, tokens, signal)
        const first = outcomeOf(tokens[0]!)
        if (tokens.length > 1 && wasTooLarge(first))
          return sendHalves(tokens, (half) => sendPart(half, body), reportToken)
        const reduced = formRefused ? withoutPicture(body) : undefined
        if (reduced) return sendPart(tokens, reduced)
        for (const token of tokens) reportToken(token, outcomeOf(token))
        return wasTooLarge(first) ? first : undefined
      }
      await sendPart(all)
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

  async function sendOnce(
    payload: HonorPayload,
    tokens: readonly string[],
    signal: AbortSignal,
  ): Promise<SendResult> {
    try {
      const call = async (accessToken: string) => {
        const result = classifySend(await post(accessToken, payload, tokens, signal), deps.now())
        return { result, tokenRefused: result.tokenRefused }
      }
      return await callWithAccessToken(deps.session, key, () => mint(), signal, call)
    } catch (error) {
      const outcome = outcomeOfError(error)
      return { outcomeOf: () => outcome, tokenRefused: false }
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
    const current = await request(tokenPaths[0])
    const first = readAccessToken(current, deps.now())
    if (first) return first
    const mayBeOlderPath = !refusesCredentials(current) && current.status !== 429 && current.status < 500
    const older = mayBeOlderPath ? await request(tokenPaths[1]) : undefined
    const second = older && readAccessToken(older, deps.now())
    if (second) return second
    // A path that is not served says nothing about the credentials.
    const telling = older && refusesCredentials(older) ? older : current
    throw new CallRefused(classifyAuth(telling, deps.now()))
  }
}
