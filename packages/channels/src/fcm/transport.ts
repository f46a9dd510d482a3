import { type Outcome, ownReasons } from '@herald/domain'
import type { CheckResult, Recipient, SendContext, Transport, TransportDeps } from '../channel.ts'
import { cacheSession, callWithAccessToken } from '../shared/access-token.ts'
import { followDenials } from '../shared/denials.ts'
import { openHttpClient } from '../shared/http-client.ts'
import { failedCheck, outcomeOfError } from '../shared/outcome.ts'
import { countInARow, refusalsToStop } from '../shared/refusals-in-a-row.ts'
import { share } from '../shared/share.ts'
import { accessTokenKey, mintAccessToken } from './access-token.ts'
import type { FcmCall } from './call.ts'
import { classify, type FcmResult, outagePause } from './classify.ts'
import type { FcmPayload } from './payload.ts'
import { resendingWithoutPicture } from './resend.ts'
import { type OpenFcmSender, openMulticastSender } from './sender.ts'
import type { FcmSettings } from './settings.ts'

/** The request bodies of a call; `write` returns those of the given indexes. */
type Bodies = { count: number; write(indexes: readonly number[]): FcmCall['body'] }

/** A changed role takes about a minute to act, and Google also denies valid accounts for a while. */
const believeAfterMs = 120_000

export function openTransport(
  settings: FcmSettings,
  deps: TransportDeps,
  openSender: OpenFcmSender = openMulticastSender,
): Transport<FcmPayload> {
  const sender = openSender(settings, deps)
  // Shared: Google keeps connections open for minutes, and every certificate requests a token.
  const http = share(['fcm-token', deps.proxy, deps.ca, deps.timeoutMs], () => openHttpClient(deps))
  const session = cacheSession(deps)
  const key = accessTokenKey(settings)
  const mint = () => mintAccessToken(settings, http, deps.urls.fcmToken, deps.now())
  const denials = followDenials({
    // Refusals by the token endpoint are believed at once.
    mayPass: ({ code }) => code.startsWith('fcm.PERMISSION_DENIED'),
    believeAfterMs,
    minWait: outagePause,
    now: deps.now,
  })

  /** One request per body. Returns those whose access token was refused; reports them instead if `last`. */
  async function round(
    bodies: Bodies,
    indexes: readonly number[],
    accessToken: string,
    context: SendContext,
    last: boolean,
    sender: ReturnType<OpenFcmSender>,
  ): Promise<number[]> {
    const retry: number[] = []
    // Does not cancel requests in flight: those that Google has accepted would be sent again.
    const stop = new AbortController()
    const refusals = countInARow()
    let isValid = false
    let stoppedBy: FcmResult | undefined
    const settle = (index: number, { outcome, tokenRefused }: FcmResult) => {
      if (tokenRefused && !last) retry.push(index)
      else context.report(index, outcome)
    }
    await sender.post({
      accessToken,
      count: indexes.length,
      body: bodies.write(indexes),
      signal: context.signal,
      stopSending: stop.signal,
      onReply(at, reply) {
        const result = classify(reply)
        const { outcome, stopsAfter } = result
        if (outcome.kind === 'misconfigured') sender.renew()
        isValid ||= outcome.kind === 'accepted'
        const inARow = refusals.note(stopsAfter !== undefined)
        // After an accepted message, a single refusal does not concern all.
        if (stopsAfter !== undefined && !stoppedBy && inARow >= (isValid ? refusalsToStop : stopsAfter)) {
          stoppedBy = result
          stop.abort()
        }
        settle(indexes[at]!, result)
      },
      onFailure(at, reason) {
        // When the process stops, the recipients stay unreported, which the runner treats as unknown.
        if (context.signal.aborted) return
        const lost: Outcome = { kind: 'unavailable', reason, minWait: outagePause }
        settle(indexes[at]!, stoppedBy ?? { outcome: lost })
      },
    })
    return retry
  }

  async function sendBodies(
    bodies: Bodies,
    context: SendContext,
    by: ReturnType<OpenFcmSender> = sender,
  ): Promise<void> {
    const { signal } = context
    let indexes = Array.from({ length: bodies.count }, (_, index) => index)
    let last = false
    try {
      await callWithAccessToken(session, key, mint, signal, async (accessToken) => {
        indexes = await round(bodies, indexes, accessToken, context, last, by)
        signal.throwIfAborted()
        last = true
        return { result: undefined, tokenRefused: indexes.length > 0 }
      })
    } catch (error) {
      signal.throwIfAborted()
      const outcome = outcomeOfError(error)
      for (const index of indexes) context.report(index, outcome)
    }
  }

  async function check(signal: AbortSignal): Promise<CheckResult> {
    let outcome = { kind: 'unavailable', reason: ownReasons.no_result } as Outcome
    const report = (_index: number, reported: Outcome) => {
      outcome = reported
    }
    // A second look after a refusal must not use the connections that were refused.
    const own = openSender(settings, deps, true)
    try {
      await sendBodies(
        { count: 1, write: () => ({ before: probe, slot: () => '', after: '' }) },
        { signal, report },
        own,
      )
    } catch {
      return { ok: false, problem: 'the check was stopped before FCM replied', temporary: true }
    } finally {
      await own.close()
    }
    return outcome.kind === 'accepted' ? { ok: true } : failedCheck('FCM', outcome)
  }

  return resendingWithoutPicture({
    async send(payload, recipients, context) {
      const watched = denials.watch(context)
      const { beforeToken, afterToken } = payload
      // Most batches have no iPhones, and their indexes need no translation.
      if (typeof afterToken === 'string' && !recipients.some(({ ios }) => ios))
        return sendBodies(bodiesOf(recipients, beforeToken, afterToken), watched)
      for (const isIos of [false, true]) {
        const indexes = [...recipients.keys()].filter((index) => (recipients[index]!.ios ?? false) === isIos)
        if (indexes.length === 0) continue
        const after = isIos ? payload.ios() : afterToken
        if (typeof after !== 'string') {
          const reason = ownReasons.unsupported_by_vendor('fcm', after.unsupported)
          for (const index of indexes) watched.report(index, { kind: 'unsupported', reason })
          continue
        }
        const some = indexes.map((index) => recipients[index]!)
        await sendBodies(bodiesOf(some, beforeToken, after), {
          signal: watched.signal,
          report: (at, outcome) => watched.report(indexes[at]!, outcome),
        })
      }
    },
    async sendEach(payloads, recipients, context) {
      const watched = denials.watch(context)
      const texts: string[] = []
      const indexes: number[] = []
      recipients.forEach(({ token, ios }, index) => {
        const { beforeToken, afterToken, ios: forIos } = payloads[index]!
        const after = ios ? forIos() : afterToken
        if (typeof after === 'string') {
          indexes.push(index)
          texts.push(beforeToken + JSON.stringify(token) + after)
          return
        }
        const reason = ownReasons.unsupported_by_vendor('fcm', after.unsupported)
        watched.report(index, { kind: 'unsupported', reason })
      })
      if (indexes.length === 0) return
      const write: Bodies['write'] = (some) => ({ before: '', slot: (at) => texts[some[at]!]!, after: '' })
      await sendBodies(
        { count: texts.length, write },
        { signal: watched.signal, report: (at, outcome) => watched.report(indexes[at]!, outcome) },
      )
    },
    check,
    async close() {
      await Promise.all([sender.close(), http.close()])
    },
  })
}

function bodiesOf(recipients: readonly Recipient[], before: string, after: string): Bodies {
  return {
    count: recipients.length,
    write: (indexes) => ({
      before,
      slot: (at) => JSON.stringify(recipients[indexes[at]!]!.token),
      after,
    }),
  }
}

/** A dry run to a topic: Google checks the request and delivers nothing. */
const probe = JSON.stringify({
  validate_only: true,
  message: { topic: 'herald-check', data: { check: '1' } },
})
