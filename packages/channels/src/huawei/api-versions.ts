import jwt from 'jsonwebtoken'
import type { MintedSession, TransportDeps } from '../channel.ts'
import { readAccessToken, requestClientCredentials, sessionKey } from '../shared/access-token.ts'
import { type HttpReply, joinUrl } from '../shared/http.ts'
import type { HttpClient } from '../shared/http-client.ts'
import { CallRefused } from '../shared/outcome.ts'
import { classifyAuth, tokenPauseS } from './classify.ts'
import type { RevokeBody } from './payload.ts'
import type { V2Body } from './payload-v2.ts'
import type { V3Body } from './payload-v3.ts'
import { noReductions, type Reductions, v2Reductions, v3Reductions } from './reductions.ts'
import type { ServiceAccount } from './service-account.ts'
import type { HuaweiSettings, OAuthClient } from './settings.ts'

/** One version of the send API: how to authenticate and how to send. */
export type ApiVersion<Body> = SendApi<Body> & {
  /** The devices that only this version reaches, as operators call them. */
  devices: string
  /** A body for the credentials check, which sends it to a token that does not exist. */
  probe: Body
}

export type SendApi<Body> = Login & {
  devices?: string
  tokensPerRequest(body: Body): number
  post(accessToken: string, body: Body, tokens: readonly string[], signal: AbortSignal): Promise<HttpReply>
  /** The message counts towards the daily limit of test messages. */
  isTest(body: Body): boolean
  reductions: Reductions<Body>
}

/** Makes access tokens. `key` is the session key under which they are shared. */
type Login = { key: string; mint(options?: MintOptions): Promise<MintedSession> }

type MintOptions = {
  signal?: AbortSignal
  /** Requests a token although Huawei has refused to issue more for now. */
  ignoresHold?: boolean
}

/** Base URLs of the certificate's region. */
type Hosts = { send: string; auth: string }

export function hostsOf({ region }: HuaweiSettings, { urls }: TransportDeps): Hosts {
  const usual = { send: urls.huawei, auth: urls.huaweiAuth }
  if (region === 'cn') return usual
  return { send: urls.huaweiIntl ?? usual.send, auth: urls.huaweiIntlAuth ?? usual.auth }
}

/** v1 has the app in its path, v2 the project; the body is the same, and both take an OAuth token or a JWT. */
export function openV2(
  { client, account }: HuaweiSettings,
  hosts: Hosts,
  http: HttpClient,
  deps: TransportDeps,
): ApiVersion<V2Body> {
  const projectId = client ? client.projectId : account!.projectId
  const path = projectId ? `/v2/${projectId}/messages:send` : `/v1/${client!.clientId}/messages:send`
  return {
    ...(client ? oauthLogin(client, hosts, http, deps) : jwtLogin(account!, deps)),
    devices: 'Android, HarmonyOS up to 4',
    tokensPerRequest: () => 1000,
    post: (accessToken, body, tokens, signal) =>
      http.call({
        url: joinUrl(hosts.send, path),
        headers: headers(accessToken),
        body: JSON.stringify({ ...body, message: { ...body.message, token: tokens } }),
        signal,
      }),
    isTest: ({ message }) => message.android.target_user_type === 1,
    reductions: v2Reductions,
    probe: { validate_only: true, message: { data: '{}', android: { ttl: '1s', bi_tag: 'check' } } },
  }
}

/** v3 takes a JWT only, and the type of the push in a header. */
export function openV3(
  account: ServiceAccount,
  hosts: Hosts,
  http: HttpClient,
  deps: TransportDeps,
): ApiVersion<V3Body> {
  return {
    ...jwtLogin(account, deps),
    devices: 'HarmonyOS 5',
    tokensPerRequest: ({ request }) => (request.pushOptions.testMessage ? 10 : 1000),
    post: (token, { pushType, request }, tokens, signal) =>
      http.call({
        url: joinUrl(hosts.send, `/v3/${account.projectId}/messages:send`),
        headers: { ...headers(token), 'push-type': String(pushType) },
        body: JSON.stringify({ ...request, target: { token: tokens } }),
        signal,
      }),
    isTest: ({ request }) => request.pushOptions.testMessage === true,
    reductions: v3Reductions,
    // v3 has no validate_only.
    probe: {
      pushType: 6,
      request: { payload: { extraData: '{}' }, pushOptions: { ttl: 1, biTag: 'check' } },
    },
  }
}

/** Takes away messages of v3. The path is that of v1, the login that of v3. */
export function openRevoke(
  clientId: string,
  account: ServiceAccount,
  hosts: Hosts,
  http: HttpClient,
  deps: TransportDeps,
): SendApi<RevokeBody> {
  return {
    ...jwtLogin(account, deps),
    tokensPerRequest: () => 1000,
    post: (accessToken, { pushType, notifyId }, tokens, signal) =>
      http.call({
        url: joinUrl(hosts.send, `/v1/${clientId}/messages:revoke`),
        headers: { ...headers(accessToken), 'push-type': String(pushType) },
        body: JSON.stringify({ notifyId, token: tokens }),
        signal,
      }),
    isTest: () => false,
    reductions: noReductions,
  }
}

function oauthLogin(
  { clientId, clientSecret }: OAuthClient,
  hosts: Hosts,
  http: HttpClient,
  deps: TransportDeps,
): Login {
  return {
    key: sessionKey('oauth', clientId, clientSecret),
    async mint({ signal, ignoresHold = false } = {}) {
      const held = ignoresHold ? undefined : deps.holds.find(tokenScope)
      if (held?.kind === 'quota') {
        const retryAfter = Math.ceil((held.until - deps.now()) / 1000)
        const minWait = Math.min(retryAfter, tokenPauseS)
        throw new CallRefused({ kind: 'throttled', reason: held.reason, retryAfter, minWait })
      }
      const url = joinUrl(hosts.auth, '/oauth2/v3/token')
      const reply = await requestClientCredentials(http, url, clientId, clientSecret, signal)
      const minted = readAccessToken(reply, deps.now())
      if (minted) return minted
      const outcome = classifyAuth(reply, deps.now())
      if (outcome.kind === 'throttled') {
        const { reason, retryAfter = 0, minWait = 0 } = outcome
        const until = deps.now() + Math.max(retryAfter, minWait) * 1000
        deps.holds.add(tokenScope, { kind: 'quota', reason, until }, until)
      }
      throw new CallRefused(outcome)
    },
  }
}

/** Held when Huawei refuses token requests for their number: until the end, no send of any process requests a token. */
const tokenScope = 'quota messages that need a new access token'

function jwtLogin(account: ServiceAccount, deps: TransportDeps): Login {
  return {
    key: sessionKey('jwt', account.projectId, account.keyId, account.subAccount),
    mint: async () => signJwt(account, deps.now()),
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
