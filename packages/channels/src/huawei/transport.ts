import { type Outcome, ownReasons } from '@herald/domain'
import {
  isUnsupported,
  type Recipient,
  type SendContext,
  type Transport,
  type TransportDeps,
  type Unsupported,
} from '../channel.ts'
import { untilAborted } from '../shared/abort.ts'
import { callWithAccessToken } from '../shared/access-token.ts'
import { distinctTokens, type ReportToken } from '../shared/distinct-tokens.ts'
import { openHttpClient } from '../shared/http-client.ts'
import {
  concernsAll,
  failedCheck,
  isRefusedOrUnanswered,
  outcomeOfError,
  outcomeOfWithdrawal,
} from '../shared/outcome.ts'
import { nextShanghaiMidnight } from '../shared/shanghai-time.ts'
import { sendHalves, wasTooLarge } from '../shared/too-large.ts'
import { type ApiVersion, hostsOf, openRevoke, openV2, openV3, type SendApi } from './api-versions.ts'
import { classifySend, type RefusedPart, type SendResult } from './classify.ts'
import type { HuaweiPayload } from './payload.ts'
import type { HuaweiSettings } from './settings.ts'

export function openTransport(settings: HuaweiSettings, deps: TransportDeps): Transport<HuaweiPayload> {
  const http = openHttpClient(deps)
  const hosts = hostsOf(settings, deps)
  const v2 = openV2(settings, hosts, http, deps)
  const v3 = settings.account && openV3(settings.account, hosts, http, deps)
  const revoke =
    settings.account && settings.clientId
      ? openRevoke(settings.clientId, settings.account, hosts, http, deps)
      : undefined
  /** What the versions last answered to a question about their credentials, by their devices. */
  const answers = new Map<string, { outcome: Promise<Outcome>; until: number }>()

  return {
    async send(payload, recipients, context) {
      const { toV2, toV3, unreachable } = splitByVersion(recipients, !!v3)
      for (const index of unreachable) context.report(index, needsServiceAccount)
      await Promise.all([
        sendThrough(v2, payload.v2, toV2, recipients, context),
        payload.revoke
          ? revoke && sendThrough(revoke, payload.revoke, toV3, recipients, ofWithdrawal(context))
          : v3 && sendThrough(v3, payload.v3, toV3, recipients, context),
      ])
    },
    /**
     * Asks both versions: devices of one are reached although the other refuses its credentials. Requests an access token even while
     * sends may not: a person's check that succeeds ends the holds of the certificate.
     */
    async check(signal) {
      const options = { signal, ignoresHold: true }
      const asked = [askVersion(v2, options), ...(v3 ? [askVersion(v3, options)] : [])]
      const outcomes = await Promise.all(asked)
      const devices = [v2.devices, v3?.devices]
      const failed = outcomes.filter((outcome) => !showsValidCredentials(outcome))
      if (failed.length === 0) return { ok: true }
      if (failed.length < outcomes.length)
        return {
          ok: true,
          warnings: outcomes.flatMap((outcome, at) =>
            showsValidCredentials(outcome) ? [] : [failedCheck(`Huawei (${devices[at]})`, outcome).problem],
          ),
        }
      // A version that does not answer may accept its credentials.
      const isRefused = failed.every(isRefusal)
      const telling = failed.find(({ kind }) => (kind === 'misconfigured') === isRefused)
      return failedCheck('Huawei', telling ?? failed[0]!)
    },
    close: () => http.close(),
  }

  async function sendThrough<Body extends object>(
    api: SendApi<Body>,
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
    const { tokens, reportToken } = distinctTokens(recipients, report, group)
    const max = api.tokensPerRequest(body)
    let forRest: Outcome | undefined
    for (let from = 0; from < tokens.length; from += max) {
      const part = tokens.slice(from, from + max)
      forRest ??= api.isTest(body) ? deps.holds.find(holdScopes.test) : undefined
      if (forRest) for (const token of part) reportToken(token, forRest)
      else forRest = await sendPart(api, withoutHeld(api, body), part, reportToken, signal)
    }
  }

  /**
   * Sends once more, to the tokens concerned, without a part that Huawei refused: it accepted nothing for them. Returns an outcome
   * that every further request would have too, such as that one token is too large a request.
   */
  async function sendPart<Body>(
    api: SendApi<Body>,
    body: Body,
    tokens: readonly string[],
    report: ReportToken,
    signal: AbortSignal,
  ): Promise<Outcome | undefined> {
    const { outcomeOf, refused } = await post(api, body, tokens, signal)
    const first = outcomeOf(tokens[0]!)
    if (tokens.length > 1 && wasTooLarge(first))
      return sendHalves(tokens, (half) => sendPart(api, body, half, report, signal), report)
    const concerned = refused ? tokens.filter(refused.concerns) : []
    if (refused && concerned.length > 0) hold(refused.part, outcomeOf(concerned[0]!))
    const reduced = refused && concerned.length > 0 ? api.reductions[refused.part](body) : undefined
    for (const token of tokens) if (!reduced || !refused?.concerns(token)) report(token, outcomeOf(token))
    if (reduced) return sendPart(api, reduced, concerned, report, signal)
    const isForAll = wasTooLarge(first) || tokens.every((token) => concernsAll(outcomeOf(token)))
    return isForAll ? first : undefined
  }

  /** A refused permission or receipt address concerns further messages too: they are sent without it at once, in all processes. */
  function withoutHeld<Body>(api: SendApi<Body>, body: Body): Body {
    let reduced = body
    for (const part of ['high', 'receipts'] as const)
      if (deps.holds.find(holdScopes[part])) reduced = api.reductions[part](reduced) ?? reduced
    return reduced
  }

  function hold(part: RefusedPart, outcome: Outcome): void {
    if (part === 'picture' || part === 'push type' || outcome.kind !== 'rejected') return
    const until = part === 'test' ? nextShanghaiMidnight(deps.now()) : deps.now() + holdMs
    deps.holds.add(holdScopes[part], outcome, until)
  }

  /**
   * A refusal of the credentials by one version, while the other accepts its own, concerns the devices of that version only: it must not
   * close the certificate for the others, or delay them. It may be wrong for a while, so the message is tried again.
   */
  async function post<Body>(
    api: SendApi<Body>,
    body: Body,
    tokens: readonly string[],
    signal: AbortSignal,
  ): Promise<SendResult> {
    const result = await callOnce(api, body, tokens, signal)
    const outcome = result.outcomeOf(tokens[0]!)
    if (outcome.kind !== 'misconfigured' || api.devices === undefined || !v3) return result
    const asked = api.devices === v2.devices ? lastAnswerOf(v3) : lastAnswerOf(v2)
    const other = await untilAborted(asked, signal)
    if (!showsValidCredentials(other)) return result
    const refused: Outcome = { kind: 'unavailable', reason: outcome.reason, maxSeconds: versionSeconds }
    return { outcomeOf: () => refused, tokenRefused: false }
  }

  async function callOnce<Body>(
    api: SendApi<Body>,
    body: Body,
    tokens: readonly string[],
    signal: AbortSignal,
  ): Promise<SendResult> {
    try {
      return await callWithAccessToken(
        deps.session,
        api.key,
        () => api.mint(),
        signal,
        async (accessToken) => {
          const result = classifySend(await api.post(accessToken, body, tokens, signal), deps.now())
          return { result, tokenRefused: result.tokenRefused }
        },
      )
    } catch (error) {
      const outcome = outcomeOfError(error)
      return { outcomeOf: () => outcome, tokenRefused: false }
    }
  }

  /**
   * Shared by all calls, and kept for a while: Huawei issues 1000 access tokens in five minutes and refuses more, and then the devices of
   * the other version would wait too.
   */
  function lastAnswerOf<Body>(api: ApiVersion<Body>): Promise<Outcome> {
    const last = answers.get(api.devices)
    if (last && deps.now() < last.until) return last.outcome
    // No caller ends it for the others; the HTTP client has a time limit.
    const outcome = askVersion(api, { signal: new AbortController().signal })
    const answer = { outcome, until: Number.POSITIVE_INFINITY }
    answers.set(api.devices, answer)
    outcome.then(
      () => {
        answer.until = deps.now() + answerMs
      },
      () => answers.delete(api.devices),
    )
    return outcome
  }

  async function askVersion<Body>(
    api: ApiVersion<Body>,
    options: { signal: AbortSignal; ignoresHold?: boolean },
  ): Promise<Outcome> {
    try {
      // A stored access token would hide that the secret has changed.
      const { value } = await api.mint(options)
      const reply = await api.post(value, api.probe, [noDevice], options.signal)
      return classifySend(reply, deps.now()).outcomeOf(noDevice)
    } catch (error) {
      return outcomeOfError(error)
    }
  }
}

/** Readable, because operators see them as warnings of the certificate. */
const holdScopes = {
  high: 'without urgency HIGH',
  receipts: 'without receipts',
  test: 'test messages',
} as const

/** How long a version that refuses its credentials is tried. */
const versionSeconds = 600

/** How long the answer of one version is used for refusals by the other. */
const answerMs = 60_000

/** A permission or receipt address that the operator has corrected is noticed after this time. */
const holdMs = 600_000

/** A token that no device has, so that the check delivers nothing. */
const noDevice = 'ILLEGAL-no-device'

const needsServiceAccount: Outcome = { kind: 'unsupported', reason: ownReasons.service_account_needed }

function ofWithdrawal({ signal, report }: SendContext): SendContext {
  return { signal, report: (index, outcome) => report(index, outcomeOfWithdrawal(outcome)) }
}

/** v3 reaches HarmonyOS 5 and later only, v1 and v2 all others only. */
function splitByVersion(recipients: readonly Recipient[], hasV3: boolean) {
  const toV2: number[] = []
  const toV3: number[] = []
  const unreachable: number[] = []
  recipients.forEach(({ harmony }, index) => {
    const group = !harmony ? toV2 : hasV3 ? toV3 : unreachable
    group.push(index)
  })
  return { toV2, toV3, unreachable }
}

/** A token or message that Huawei refused shows that the credentials are valid; a gateway that refused the request does not. */
function showsValidCredentials(outcome: Outcome): boolean {
  const { kind } = outcome
  return kind === 'accepted' || ((kind === 'gone' || kind === 'rejected') && !isRefusedOrUnanswered(outcome))
}

/** Huawei itself refuses the credentials or the access token made with them. */
function isRefusal(outcome: Outcome): boolean {
  return (
    outcome.kind === 'misconfigured' ||
    (outcome.kind === 'unavailable' && /\.8020000[135]$/.test(outcome.reason.code))
  )
}
