import type { Outcome } from '@herald/domain'
import type { CheckResult, SendContext, Transport, TransportDeps } from '../channel.ts'
import { follow } from '../shared/follow.ts'
import { openHttpClient } from '../shared/http.ts'
import { callWithPass, outcomeOfThrown, rememberPass } from '../shared/pass.ts'
import { accessTokenKey, mintAccessToken } from './access-token.ts'
import { classify, outagePause } from './classify.ts'
import type { FcmPayload } from './payload.ts'
import type { FcmSettings } from './settings.ts'
import { type FcmCall, type OpenFcmWire, openMulticastWire } from './wire.ts'

/** Bodies of a call, by their place in it. */
type Bodies = { count: number; write(places: readonly number[]): FcmCall['body'] }

export function openTransport(
  settings: FcmSettings,
  deps: TransportDeps,
  openWire: OpenFcmWire = openMulticastWire,
): Transport<FcmPayload> {
  const wire = openWire(settings, deps)
  const http = openHttpClient(deps)
  const session = rememberPass(deps)
  const key = accessTokenKey(settings)
  const mint = () => mintAccessToken(settings, http, deps.urls.fcmToken, deps.now())
  let projectKnown = false

  /** One request a body. Answers those whose access token was refused; `last` reports them instead. */
  async function round(
    bodies: Bodies,
    places: readonly number[],
    accessToken: string,
    context: SendContext,
    last: boolean,
  ): Promise<number[]> {
    const again: number[] = []
    const stop = new AbortController()
    const letGo = follow(stop, context.signal)
    let stoppedBy: Outcome | undefined
    try {
      await wire.post({
        accessToken,
        count: places.length,
        body: bodies.write(places),
        signal: stop.signal,
        onReply(at, reply) {
          const { outcome, refresh, fromProject } = classify({ ...reply, projectKnown })
          projectKnown ||= fromProject === true
          if (refresh && !last) {
            again.push(places[at]!)
            return
          }
          // Everybody else would be told the same, and Google counts refusals against the quota.
          if (outcome.kind === 'misconfigured' && !stoppedBy) {
            stoppedBy = outcome
            stop.abort()
          }
          context.report(places[at]!, outcome)
        },
        onFailure(at, reason) {
          // What a stopping process leaves behind stays unreported: the runner reads it as unknown.
          if (context.signal.aborted) return
          context.report(places[at]!, stoppedBy ?? { kind: 'unavailable', reason, atLeast: outagePause })
        },
      })
    } finally {
      letGo()
    }
    return again
  }

  async function sendBodies(bodies: Bodies, context: SendContext): Promise<void> {
    const { signal } = context
    let places = Array.from({ length: bodies.count }, (_, place) => place)
    let last = false
    try {
      await callWithPass(session, key, mint, signal, async (accessToken) => {
        places = await round(bodies, places, accessToken, context, last)
        signal.throwIfAborted()
        last = true
        return places.length === 0 ? { done: undefined } : { refresh: undefined }
      })
    } catch (error) {
      signal.throwIfAborted()
      const outcome = outcomeOfThrown(error)
      for (const place of places) context.report(place, outcome)
    }
  }

  async function check(signal: AbortSignal): Promise<CheckResult> {
    let outcome: Outcome = { kind: 'unavailable', reason: 'no answer' }
    const report = (_index: number, reported: Outcome) => {
      outcome = reported
    }
    try {
      await sendBodies(
        { count: 1, write: () => ({ before: probe, slot: () => '', after: '' }) },
        { signal, report },
      )
    } catch {
      return { ok: false, problem: 'the check was stopped before FCM answered', temporary: true }
    }
    return readProbe(outcome)
  }

  return {
    send(payload, recipients, context) {
      const write: Bodies['write'] = (places) => ({
        before: payload.beforeToken,
        slot: (at) => JSON.stringify(recipients[places[at]!]!.token),
        after: payload.afterToken,
      })
      return sendBodies({ count: recipients.length, write }, context)
    },
    check,
    async close() {
      await Promise.all([wire.close(), http.close()])
    },
  }
}

/** A dry run to a topic: Google checks everything and delivers nothing. */
const probe = JSON.stringify({
  validate_only: true,
  message: { topic: 'herald-check', data: { check: '1' } },
})

function readProbe(outcome: Outcome): CheckResult {
  if (outcome.kind === 'accepted') return { ok: true }
  const temporary = outcome.kind === 'unavailable' || outcome.kind === 'throttled'
  return { ok: false, problem: `FCM: ${outcome.reason}`, temporary }
}
