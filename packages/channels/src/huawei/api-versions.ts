import jwt from 'jsonwebtoken'
import type { MintedSession, TransportDeps } from '../channel.ts'
import { readAccessToken, requestClientCredentials, sessionKey } from '../shared/access-token.ts'
import { type HttpReply, joinUrl } from '../shared/http.ts'
import type { HttpClient } from '../shared/http-client.ts'
import { CallRefused } from '../shared/outcome.ts'
import { classifyAuth } from './classify.ts'
import type { V2Body } from './payload-v2.ts'
import type { V3Body } from './payload-v3.ts'
import type { ServiceAccount } from './service-account.ts'
import type { HuaweiSettings } from './settings.ts'

/** One version of the send API: how to authenticate and how to send. */
export type ApiVersion<Body> = {
  /** Session key of its access token. */
  key: string
  mint(signal?: AbortSignal): Promise<MintedSession>
  tokensPerRequest(body: Body): number
  post(accessToken: string, body: Body, tokens: readonly string[], signal: AbortSignal): Promise<HttpReply>
  /** The same message with NORMAL urgency; undefined if it does not use HIGH. */
  withNormalUrgency(body: Body): Body | undefined
  /** A body for the credentials check, which sends it to a token that does not exist. */
  probe: Body
}

/** v1 has the app in its path, v2 the project; body and access token are the same. */
export function openV2(
  credential: NonNullable<HuaweiSettings['v2']>,
  http: HttpClient,
  deps: TransportDeps,
): ApiVersion<V2Body> {
  const { clientId, clientSecret, projectId } = credential
  const path = projectId ? `/v2/${projectId}/messages:send` : `/v1/${clientId}/messages:send`
  return {
    key: sessionKey('oauth', clientId, clientSecret),
    async mint(signal) {
      const url = joinUrl(deps.urls.huaweiAuth, '/oauth2/v3/token')
      const reply = await requestClientCredentials(http, url, clientId, clientSecret, signal)
      const minted = readAccessToken(reply, deps.now())
      if (!minted) throw new CallRefused(classifyAuth(reply, deps.now()))
      return minted
    },
    tokensPerRequest: () => 1000,
    post: (accessToken, body, tokens, signal) =>
      http.call({
        url: joinUrl(deps.urls.huawei, path),
        headers: headers(accessToken),
        body: JSON.stringify({ ...body, message: { ...body.message, token: tokens } }),
        signal,
      }),
    withNormalUrgency(body) {
      const { android } = body.message
      if (android.urgency !== 'HIGH') return undefined
      return { ...body, message: { ...body.message, android: { ...android, urgency: 'NORMAL' } } }
    },
    probe: { validate_only: true, message: { data: '{}', android: { ttl: '1s', bi_tag: 'check' } } },
  }
}

/** v3 takes a JWT that we sign, and the type of the push in a header. */
export function openV3(account: ServiceAccount, http: HttpClient, deps: TransportDeps): ApiVersion<V3Body> {
  return {
    key: sessionKey('jwt', account.projectId, account.keyId, account.subAccount),
    mint: async () => signJwt(account, deps.now()),
    tokensPerRequest: ({ request }) => (request.pushOptions.testMessage ? 10 : 1000),
    post: (token, { pushType, request }, tokens, signal) =>
      http.call({
        url: joinUrl(deps.urls.huawei, `/v3/${account.projectId}/messages:send`),
        headers: { ...headers(token), 'push-type': String(pushType) },
        body: JSON.stringify({ ...request, target: { token: tokens } }),
        signal,
      }),
    withNormalUrgency: () => undefined,
    // v3 has no validate_only.
    probe: {
      pushType: 6,
      request: { payload: { extraData: '{}' }, pushOptions: { ttl: 1, biTag: 'check' } },
    },
  }
}

function headers(accessToken: string): Record<string, string> {
  return { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json;charset=UTF-8' }
}

/** Fixed by Huawei, whatever host the request goes to. */
const audience = 'https://oauth-login.cloud.huawei.com/oauth2/v3/token'
const lifeSeconds = 3600

export function signJwt(account: ServiceAccount, nowMs: number): MintedSession {
  const iat = Math.floor(nowMs / 1000)
  const exp = iat + lifeSeconds
  const value = jwt.sign({ aud: audience, iss: account.subAccount, iat, exp }, account.privateKey, {
    algorithm: 'PS256',
    keyid: account.keyId,
  })
  return { value, renewAt: (exp - 300) * 1000, expiresAt: exp * 1000 }
}
