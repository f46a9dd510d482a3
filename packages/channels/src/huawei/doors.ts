import type { MintedSession, TransportDeps } from '../channel.ts'
import { type HttpClient, type HttpReply, joinUrl } from '../shared/http.ts'
import { CallRefused, passKey, readAccessToken, requestClientCredentials } from '../shared/pass.ts'
import { classifyAuth } from './classify.ts'
import type { ClassicBody } from './payload-classic.ts'
import type { NextBody } from './payload-next.ts'
import { type ServiceAccount, signPass } from './service-account.ts'
import type { HuaweiSettings } from './settings.ts'

/** One version of the interface: where it is, how it is opened, how a request to it looks. */
export type Door<Body> = {
  /** Under which its pass is shared. */
  key: string
  mint(signal?: AbortSignal): Promise<MintedSession>
  tokensPerRequest(body: Body): number
  post(pass: string, body: Body, tokens: readonly string[], signal: AbortSignal): Promise<HttpReply>
  /** The same message at NORMAL urgency; undefined when it does not ask for more. */
  lowered(body: Body): Body | undefined
  /** A request that is judged and delivers nothing to a made-up token. */
  harmless: Body
}

/** v1 names the app in its path, v2 the project; both take the same body and the same OAuth token. */
export function classicDoor(
  credential: NonNullable<HuaweiSettings['classic']>,
  http: HttpClient,
  deps: TransportDeps,
): Door<ClassicBody> {
  const { clientId, clientSecret, projectId } = credential
  const path = projectId ? `/v2/${projectId}/messages:send` : `/v1/${clientId}/messages:send`
  return {
    key: passKey('oauth', clientId, clientSecret),
    async mint(signal) {
      const url = joinUrl(deps.urls.huaweiAuth, '/oauth2/v3/token')
      const reply = await requestClientCredentials(http, url, clientId, clientSecret, signal)
      const minted = readAccessToken(reply, deps.now())
      if (!minted) throw new CallRefused(classifyAuth(reply, deps.now()))
      return minted
    },
    tokensPerRequest: () => 1000,
    post: (pass, body, tokens, signal) =>
      http.call({
        url: joinUrl(deps.urls.huawei, path),
        headers: headers(pass),
        body: JSON.stringify({ ...body, message: { ...body.message, token: tokens } }),
        signal,
      }),
    lowered(body) {
      const { android } = body.message
      if (android.urgency !== 'HIGH') return undefined
      return { ...body, message: { ...body.message, android: { ...android, urgency: 'NORMAL' } } }
    },
    harmless: { validate_only: true, message: { data: '{}', android: { ttl: '1s', bi_tag: 'check' } } },
  }
}

/** v3 takes a JWT signed here, and the kind of push as a header. */
export function nextDoor(account: ServiceAccount, http: HttpClient, deps: TransportDeps): Door<NextBody> {
  return {
    key: passKey('jwt', account.projectId, account.keyId, account.subAccount),
    mint: async () => signPass(account, deps.now()),
    tokensPerRequest: ({ request }) => (request.pushOptions.testMessage ? 10 : 1000),
    post: (pass, { pushType, request }, tokens, signal) =>
      http.call({
        url: joinUrl(deps.urls.huawei, `/v3/${account.projectId}/messages:send`),
        headers: { ...headers(pass), 'push-type': String(pushType) },
        body: JSON.stringify({ ...request, target: { token: tokens } }),
        signal,
      }),
    lowered: () => undefined,
    // There is no validation only in v3; the made-up token is nobody's.
    harmless: {
      pushType: 6,
      request: { payload: { extraData: '{}' }, pushOptions: { ttl: 1, biTag: 'check' } },
    },
  }
}

function headers(pass: string): Record<string, string> {
  return { authorization: `Bearer ${pass}`, 'content-type': 'application/json;charset=UTF-8' }
}
