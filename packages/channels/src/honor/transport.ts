import type { Outcome } from '@herald/domain'
import type { CheckResult, MintedSession, Transport, TransportDeps } from '../channel.ts'
import { type HttpReply, joinUrl, openHttpClient } from '../shared/http.ts'
import {
  CallRefused,
  callWithPass,
  outcomeOfThrown,
  type PassVerdict,
  passKey,
  readAccessToken,
  requestClientCredentials,
} from '../shared/pass.ts'
import { classifyAuth, classifySend, type SendVerdict } from './classify.ts'
import type { HonorPayload } from './payload.ts'
import type { HonorSettings } from './settings.ts'

/** The path of today, then the one that Honor published before and older gateways still serve. */
const tokenPaths = ['/auth/token', '/auth/realms/developer/protocol/openid-connect/token'] as const

export function openTransport(settings: HonorSettings, deps: TransportDeps): Transport<HonorPayload> {
  const http = openHttpClient(deps)
  const key = passKey('oauth', settings.clientId, settings.clientSecret)
  const sendUrl = joinUrl(deps.urls.honor, `/api/v1/${settings.appId}/sendMessage`)

  return {
    async send(payload, recipients, { signal, report }) {
      // A token listed twice would be shown twice.
      const byToken = Map.groupBy(recipients.keys(), (index) => recipients[index]!.token)
      const outcomeOf = await outcomesOf(payload, [...byToken.keys()], signal)
      for (const [token, indexes] of byToken) for (const index of indexes) report(index, outcomeOf(token))
    },
    /** Honor validates nothing without sending, so the check ends with the access token. */
    async check(signal) {
      try {
        await mint(signal)
        return { ok: true }
      } catch (error) {
        return checkResult(outcomeOfThrown(error))
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
      const call = async (pass: string): Promise<PassVerdict<SendVerdict>> => {
        const verdict = classifySend(await post(pass, payload, tokens, signal), deps.now())
        return verdict.refresh ? { refresh: verdict } : { done: verdict }
      }
      return (await callWithPass(deps.session, key, () => mint(), signal, call)).outcomeOf
    } catch (error) {
      const outcome = outcomeOfThrown(error)
      return () => outcome
    }
  }

  function post(
    pass: string,
    payload: HonorPayload,
    tokens: readonly string[],
    signal: AbortSignal,
  ): Promise<HttpReply> {
    return http.call({
      url: sendUrl,
      headers: {
        authorization: `Bearer ${pass}`,
        timestamp: String(deps.now()),
        'content-type': 'application/json; charset=UTF-8',
      },
      body: JSON.stringify({ ...payload, token: tokens }),
      signal,
    })
  }

  async function mint(signal?: AbortSignal): Promise<MintedSession> {
    const ask = (path: string) => {
      const url = joinUrl(deps.urls.honorAuth, path)
      return requestClientCredentials(http, url, settings.clientId, settings.clientSecret, signal)
    }
    let reply = await ask(tokenPaths[0])
    if (reply.status === 404) reply = await ask(tokenPaths[1])
    const minted = readAccessToken(reply, deps.now())
    if (!minted) throw new CallRefused(classifyAuth(reply, deps.now()))
    return minted
  }
}

function checkResult(outcome: Outcome): CheckResult {
  const reason = 'reason' in outcome ? outcome.reason : outcome.kind
  return outcome.kind === 'misconfigured'
    ? { ok: false, problem: `Honor refused the certificate: ${reason}`, temporary: false }
    : { ok: false, problem: `Honor could not be asked: ${reason}`, temporary: true }
}
