import type { Outcome } from '@herald/domain'
import {
  type CheckResult,
  isUnsupported,
  type Recipient,
  type SendContext,
  type Transport,
  type TransportDeps,
  type Unsupported,
} from '../channel.ts'
import { openHttpClient } from '../shared/http.ts'
import { callWithPass, outcomeOfThrown, type PassVerdict } from '../shared/pass.ts'
import { classifySend, type SendVerdict } from './classify.ts'
import { classicDoor, type Door, nextDoor } from './doors.ts'
import type { HuaweiPayload } from './payload.ts'
import type { HuaweiSettings } from './settings.ts'

export function openTransport(settings: HuaweiSettings, deps: TransportDeps): Transport<HuaweiPayload> {
  const http = openHttpClient(deps)
  const classic = settings.classic && classicDoor(settings.classic, http, deps)
  const next = settings.next && nextDoor(settings.next, http, deps)
  // Once refused, HIGH is not asked for again by this transport: each try costs a whole request.
  let highRefused = false

  return {
    async send(payload, recipients, context) {
      const { toClassic, toNext, unreachable } = splitByDoor(recipients, !!classic, !!next)
      for (const index of unreachable) context.report(index, needsServiceAccount)
      await Promise.all([
        classic && sendThrough(classic, payload.classic, toClassic, recipients, context),
        next && sendThrough(next, payload.next, toNext, recipients, context),
      ])
    },
    async check(signal) {
      const result = classic ? await checkDoor(classic, signal) : ok
      return next && result.ok ? checkDoor(next, signal) : result
    },
    close: () => http.close(),
  }

  async function sendThrough<Body extends object>(
    door: Door<Body>,
    body: Body | Unsupported | undefined,
    group: readonly number[],
    recipients: readonly Recipient[],
    { signal, report }: SendContext,
  ): Promise<void> {
    if (group.length === 0) return
    if (body === undefined) throw new Error('the payload was mapped for another certificate')
    if (isUnsupported(body)) {
      for (const index of group) report(index, { kind: 'unsupported', reason: body.unsupported })
      return
    }
    // A token listed twice would be shown twice.
    const byToken = Map.groupBy(group, (index) => recipients[index]!.token)
    const tokens = [...byToken.keys()]
    const most = door.tokensPerRequest(body)
    for (let from = 0; from < tokens.length; from += most) {
      const part = tokens.slice(from, from + most)
      const outcomeOf = await outcomesOf(door, body, part, signal)
      for (const token of part) for (const index of byToken.get(token)!) report(index, outcomeOf(token))
    }
  }

  async function outcomesOf<Body>(
    door: Door<Body>,
    body: Body,
    tokens: readonly string[],
    signal: AbortSignal,
  ): Promise<(token: string) => Outcome> {
    try {
      const lowered = door.lowered(body)
      if (lowered === undefined || highRefused)
        return (await judge(door, lowered ?? body, tokens, signal)).outcomeOf
      const verdict = await judge(door, body, tokens, signal)
      if (!verdict.urgencyRefused) return verdict.outcomeOf
      // Nothing was taken, so this is another request and not a repeated one: without it, one message that asks for
      // a right the app lacks would close the channel.
      highRefused = true
      return (await judge(door, lowered, tokens, signal)).outcomeOf
    } catch (error) {
      const outcome = outcomeOfThrown(error)
      return () => outcome
    }
  }

  function judge<Body>(
    door: Door<Body>,
    body: Body,
    tokens: readonly string[],
    signal: AbortSignal,
  ): Promise<SendVerdict> {
    return callWithPass(
      deps.session,
      door.key,
      () => door.mint(),
      signal,
      async (pass): Promise<PassVerdict<SendVerdict>> => {
        const verdict = classifySend(await door.post(pass, body, tokens, signal), deps.now())
        return verdict.refresh ? { refresh: verdict } : { done: verdict }
      },
    )
  }

  async function checkDoor<Body>(door: Door<Body>, signal: AbortSignal): Promise<CheckResult> {
    try {
      // A stored pass would hide that the secret was changed since.
      const { value } = await door.mint(signal)
      const reply = await door.post(value, door.harmless, [noOne], signal)
      return checkResult(classifySend(reply, deps.now()).outcomeOf(noOne))
    } catch (error) {
      return checkResult(outcomeOfThrown(error))
    }
  }
}

/** A token that Huawei never made, so judging a request for it delivers nothing. */
const noOne = 'ILLEGAL-no-device'

const ok: CheckResult = { ok: true }

const needsServiceAccount: Outcome = {
  kind: 'unsupported',
  reason: 'HarmonyOS device needs a service account in the certificate',
}

/** With both doors open the device's platform decides; one alone takes all but what it can never reach. */
function splitByDoor(recipients: readonly Recipient[], classic: boolean, next: boolean) {
  const toClassic: number[] = []
  const toNext: number[] = []
  const unreachable: number[] = []
  recipients.forEach(({ harmony }, index) => {
    if (next && (!classic || harmony)) toNext.push(index)
    else if (harmony) unreachable.push(index)
    else toClassic.push(index)
  })
  return { toClassic, toNext, unreachable }
}

/** A refused token or message proves the credential: only who may send is asked here. */
function checkResult(outcome: Outcome): CheckResult {
  switch (outcome.kind) {
    case 'misconfigured':
      return { ok: false, problem: `Huawei refused the certificate: ${outcome.reason}`, temporary: false }
    case 'throttled':
    case 'unavailable':
    case 'quota':
      return { ok: false, problem: `Huawei could not be asked: ${outcome.reason}`, temporary: true }
    default:
      return ok
  }
}
