import { type Outcome, ownReasons } from '@herald/domain'
import type { CheckResult, SendContext, Transport, TransportDeps } from '../channel.ts'
import { abortWith } from '../shared/abort.ts'
import { cacheSession, callWithAccessToken } from '../shared/access-token.ts'
import { openHttpClient } from '../shared/http-client.ts'
import { failedCheck, outcomeOfError } from '../shared/outcome.ts'
import { countInARow, refusalsToStop } from '../shared/refusals-in-a-row.ts'
import { share } from '../shared/share.ts'
import { accessTokenKey, mintAccessToken } from './access-token.ts'
import { classify, type FcmResult, outagePause } from './classify.ts'
import { followDenials } from './denials.ts'
import type { FcmPayload } from './payload.ts'
import { type FcmCall, type OpenFcmSender, openMulticastSender } from './sender.ts'
import type { FcmSettings } from './settings.ts'

/** The request bodies of a call; `write` returns those of the given indexes. */
type Bodies = { count: number; write(indexes: readonly number[]): FcmCall['body'] }

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
  const denials = followDenials(deps.now)

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
    const stop = new AbortController()
    const unlink = abortWith(stop, context.signal)
    const refusals = countInARow()
    let isValid = false
    let stoppedBy: FcmResult | undefined
    const settle = (index: number, { outcome, tokenRefused }: FcmResult) => {
      if (tokenRefused && !last) retry.push(index)
      else context.report(index, outcome)
    }
    try {
      await sender.post({
        accessToken,
        count: indexes.length,
        body: bodies.write(indexes),
        signal: stop.signal,
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
    } finally {
      unlink()
    }
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

  return {
    send(payload, recipients, context) {
      const write: Bodies['write'] = (indexes) => ({
        before: payload.beforeToken,
        slot: (at) => JSON.stringify(recipients[indexes[at]!]!.token),
        after: payload.afterToken,
      })
      return sendBodies({ count: recipients.length, write }, denials.watch(context))
    },
    check,
    async close() {
      await Promise.all([sender.close(), http.close()])
    },
  }
}

/** A dry run to a topic: Google checks the request and delivers nothing. */
const probe = JSON.stringify({
  validate_only: true,
  message: { topic: 'herald-check', data: { check: '1' } },
})
