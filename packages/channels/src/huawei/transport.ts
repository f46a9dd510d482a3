import { type Outcome, ownReasons } from '@herald/domain'
import {
  type CheckResult,
  isUnsupported,
  type Recipient,
  type SendContext,
  type Transport,
  type TransportDeps,
  type Unsupported,
} from '../channel.ts'
import { callWithAccessToken } from '../shared/access-token.ts'
import { openHttpClient } from '../shared/http-client.ts'
import { failedCheck, outcomeOfError } from '../shared/outcome.ts'
import { type ApiVersion, openV2, openV3 } from './api-versions.ts'
import { classifySend, type SendResult } from './classify.ts'
import type { HuaweiPayload } from './payload.ts'
import type { HuaweiSettings } from './settings.ts'

export function openTransport(settings: HuaweiSettings, deps: TransportDeps): Transport<HuaweiPayload> {
  const http = openHttpClient(deps)
  const v2 = settings.v2 && openV2(settings.v2, http, deps)
  const v3 = settings.v3 && openV3(settings.v3, http, deps)
  // After one refusal this transport does not try HIGH again: each attempt costs a whole request.
  let highRefused = false

  return {
    async send(payload, recipients, context) {
      const { toV2, toV3, unreachable } = splitByVersion(recipients, !!v2, !!v3)
      for (const index of unreachable) context.report(index, needsServiceAccount)
      await Promise.all([
        v2 && sendThrough(v2, payload.v2, toV2, recipients, context),
        v3 && sendThrough(v3, payload.v3, toV3, recipients, context),
      ])
    },
    async check(signal) {
      const result = v2 ? await checkVersion(v2, signal) : ok
      return v3 && result.ok ? checkVersion(v3, signal) : result
    },
    close: () => http.close(),
  }

  async function sendThrough<Body extends object>(
    api: ApiVersion<Body>,
    body: Body | Unsupported | undefined,
    group: readonly number[],
    recipients: readonly Recipient[],
    { signal, report }: SendContext,
  ): Promise<void> {
    if (group.length === 0) return
    if (body === undefined) throw new Error('the payload was built for another certificate')
    if (isUnsupported(body)) {
      const reason = ownReasons.unsupported_by_vendor('huawei', body.unsupported)
      for (const index of group) report(index, { kind: 'unsupported', reason })
      return
    }
    // A token listed twice would be notified twice.
    const byToken = Map.groupBy(group, (index) => recipients[index]!.token)
    const tokens = [...byToken.keys()]
    const max = api.tokensPerRequest(body)
    for (let from = 0; from < tokens.length; from += max) {
      const part = tokens.slice(from, from + max)
      const outcomeOf = await outcomesOf(api, body, part, signal)
      for (const token of part) for (const index of byToken.get(token)!) report(index, outcomeOf(token))
    }
  }

  async function outcomesOf<Body>(
    api: ApiVersion<Body>,
    body: Body,
    tokens: readonly string[],
    signal: AbortSignal,
  ): Promise<(token: string) => Outcome> {
    try {
      const lowered = api.withNormalUrgency(body)
      if (lowered === undefined || highRefused)
        return (await post(api, lowered ?? body, tokens, signal)).outcomeOf
      const result = await post(api, body, tokens, signal)
      if (!result.urgencyRefused) return result.outcomeOf
      // Huawei accepted nothing, so nothing is sent twice. Without the second request, one message with an urgency that the app
      // may not use would disable the channel.
      highRefused = true
      return (await post(api, lowered, tokens, signal)).outcomeOf
    } catch (error) {
      const outcome = outcomeOfError(error)
      return () => outcome
    }
  }

  function post<Body>(
    api: ApiVersion<Body>,
    body: Body,
    tokens: readonly string[],
    signal: AbortSignal,
  ): Promise<SendResult> {
    return callWithAccessToken(
      deps.session,
      api.key,
      () => api.mint(),
      signal,
      async (accessToken) => {
        const result = classifySend(await api.post(accessToken, body, tokens, signal), deps.now())
        return { result, tokenRefused: result.tokenRefused }
      },
    )
  }

  async function checkVersion<Body>(api: ApiVersion<Body>, signal: AbortSignal): Promise<CheckResult> {
    try {
      // A stored access token would hide that the secret has changed.
      const { value } = await api.mint(signal)
      const reply = await api.post(value, api.probe, [noDevice], signal)
      return checkResult(classifySend(reply, deps.now()).outcomeOf(noDevice))
    } catch (error) {
      return checkResult(outcomeOfError(error))
    }
  }
}

/** A token that no device has, so that the check delivers nothing. */
const noDevice = 'ILLEGAL-no-device'

const ok: CheckResult = { ok: true }

const needsServiceAccount: Outcome = { kind: 'unsupported', reason: ownReasons.service_account_needed }

/** With both versions the device's platform decides; with one alone it gets all devices that it can reach. */
function splitByVersion(recipients: readonly Recipient[], hasV2: boolean, hasV3: boolean) {
  const toV2: number[] = []
  const toV3: number[] = []
  const unreachable: number[] = []
  recipients.forEach(({ harmony }, index) => {
    if (hasV3 && (!hasV2 || harmony)) toV3.push(index)
    else if (harmony) unreachable.push(index)
    else toV2.push(index)
  })
  return { toV2, toV3, unreachable }
}

/** A refused token or message shows that the credentials are valid. */
function checkResult(outcome: Outcome): CheckResult {
  const isFailure = ['misconfigured', 'throttled', 'unavailable', 'quota'].includes(outcome.kind)
  return isFailure ? failedCheck('Huawei', outcome) : ok
}
