import type { Outcome } from '@herald/domain'
import type { Reply } from '@herald/http2'
import type { CheckResult, Recipient, SendContext, Transport, TransportDeps } from '../channel.ts'
import { follow } from '../shared/follow.ts'
import { retryAfterSeconds } from '../shared/http.ts'
import { untilAborted } from '../shared/pass.ts'
import { openVendorPool } from '../shared/vendor-pool.ts'
import {
  type ApnsReply,
  classify,
  classifyFailure,
  classifyGoaway,
  type Remedy,
  type Verdict,
} from './classify.ts'
import { openConnections } from './connections.ts'
import { type ApnsPayload, badgeSlot } from './payload.ts'
import {
  isDue,
  isYoung,
  mayReplace,
  mintPass,
  type ProviderPass,
  providerTokenKey,
  readPass,
} from './provider-token.ts'
import type { ApnsSettings } from './settings.ts'
import { groupByTopic, notAllowed } from './topics.ts'

/** Recipients of one topic, by their place in the call. */
type Group = { topic: string; indexes: number[]; recipients: readonly Recipient[] }

export function openTransport(settings: ApnsSettings, deps: TransportDeps): Transport<ApnsPayload> {
  const { auth } = settings
  const connections = openConnections(() =>
    openVendorPool({
      origin: originOf(settings, deps),
      deps,
      identity: auth.kind === 'certificate' ? { cert: auth.cert, key: auth.key } : undefined,
      isFinal: (goaway) => classifyGoaway(goaway) !== undefined,
    }),
  )
  let kept: ProviderPass | undefined

  /** `stale` is the pass APNs just refused; replacing it before its time is remembered in its successor. */
  async function takePass(signal: AbortSignal, stale?: ProviderPass): Promise<ProviderPass | undefined> {
    if (auth.kind !== 'token') return undefined
    const now = deps.now()
    // Asking the shared session costs a query; a refusal tells soon enough that somebody has replaced the pass.
    if (kept && kept.value !== stale?.value && !isDue(kept, now)) return kept
    const early = stale !== undefined && isYoung(stale, now)
    const mint = async () => mintPass(auth, deps.now(), early)
    kept = readPass(await untilAborted(deps.session(providerTokenKey(auth), mint, stale?.value), signal))
    return kept
  }

  /** One request a recipient. Answers those that a fresh token or connection may still help; `last` lets none through. */
  async function round(
    payload: ApnsPayload,
    { topic, indexes, recipients }: Group,
    pass: ProviderPass | undefined,
    context: SendContext,
    last: boolean,
  ): Promise<{ again: number[]; remedy?: Remedy }> {
    const lease = connections.lease()
    const stop = new AbortController()
    const letGo = follow(stop, context.signal)
    const again: number[] = []
    let stoppedBy: Verdict | undefined

    const settle = (index: number, verdict: Verdict) => {
      if (verdict.spoilsConnection) lease.spoil()
      if (verdict.concernsAll && !stoppedBy) {
        stoppedBy = verdict
        stop.abort()
      }
      if (verdict.remedy && !last) again.push(index)
      else context.report(index, verdict.outcome)
    }

    try {
      await lease.pool.multicast({
        headers: {
          ...(pass ? { authorization: `bearer ${pass.jwt}` } : {}),
          'apns-topic': topic,
          'apns-push-type': payload.pushType,
          'apns-priority': payload.priority,
          'apns-expiration': payload.expiration,
          'apns-collapse-id': payload.collapseId,
        },
        count: indexes.length,
        path: (at) => `/3/device/${recipients[indexes[at]!]!.token}`,
        body: {
          before: payload.beforeBadge,
          slot: (at) => badgeSlot(payload, recipients[indexes[at]!]!.badge),
          after: payload.afterBadge,
        },
        signal: stop.signal,
        onReply: (at, reply) => settle(indexes[at]!, classify(readReply(reply, deps.now()))),
        onFailure(at, failure) {
          // What a stopping process leaves behind stays unreported: the runner reads it as unknown.
          if (context.signal.aborted) return
          settle(indexes[at]!, stoppedBy ?? classifyFailure(failure))
        },
      })
    } finally {
      letGo()
      lease.release()
    }
    return { again, remedy: stoppedBy?.remedy }
  }

  async function sendGroup(payload: ApnsPayload, group: Group, context: SendContext): Promise<void> {
    const pass = await takePass(context.signal)
    const { again, remedy } = await round(payload, group, pass, context, false)
    if (again.length === 0 || context.signal.aborted) return
    if (remedy === 'new-token' && pass && !mayReplace(pass, deps.now())) {
      const reason = '403 ExpiredProviderToken for a new token: check the clock of this machine'
      for (const index of again) context.report(index, { kind: 'misconfigured', reason })
      return
    }
    const fresh = await takePass(context.signal, remedy === 'new-token' ? pass : undefined)
    await round(payload, { ...group, indexes: again }, fresh, context, true)
  }

  async function send(payload: ApnsPayload, recipients: readonly Recipient[], context: SendContext) {
    const over = expiredCertificate(settings, deps.now())
    if (over) {
      for (let index = 0; index < recipients.length; index++) context.report(index, over)
      return
    }
    for (const [topic, indexes] of groupByTopic(recipients, settings)) {
      context.signal.throwIfAborted()
      if (topic === undefined) for (const index of indexes) context.report(index, notAllowed)
      else await sendGroup(payload, { topic, indexes, recipients }, context)
    }
    context.signal.throwIfAborted()
  }

  return { send, check: (signal) => probe(openTransport(settings, deps), signal), close: connections.close }
}

export function originOf({ environment }: ApnsSettings, { urls }: TransportDeps): string {
  return new URL(environment === 'production' ? urls.apns : urls.apnsSandbox).origin
}

/** Well-formed and nobody's: APNs judges the credential before it looks for the device. */
const nobody = '0'.repeat(64)

const probePayload: ApnsPayload = {
  pushType: 'background',
  priority: '5',
  expiration: '0',
  collapseId: 'herald-check',
  beforeBadge: '{"aps":{',
  afterBadge: '"content-available":1}}',
}

/** On a connection of its own: APNs counts the unknown device against the connection it came on. */
export async function probe(transport: Transport<ApnsPayload>, signal: AbortSignal): Promise<CheckResult> {
  let outcome: Outcome = { kind: 'unavailable', reason: 'no answer' }
  const report = (_index: number, reported: Outcome) => {
    outcome = reported
  }
  try {
    await transport.send(probePayload, [{ deviceId: 0, token: nobody }], { signal, report })
  } catch {
    return { ok: false, problem: 'the check was stopped before APNs answered', temporary: true }
  } finally {
    await transport.close()
  }
  return readProbe(outcome)
}

function readProbe(outcome: Outcome): CheckResult {
  if (outcome.kind === 'accepted' || outcome.kind === 'gone') return { ok: true }
  const temporary = outcome.kind === 'unavailable' || outcome.kind === 'throttled'
  return { ok: false, problem: `APNs: ${outcome.reason}`, temporary }
}

/** Without this the handshake alone would fail, which looks like a vendor that is down. */
function expiredCertificate({ auth }: ApnsSettings, nowMs: number): Outcome | undefined {
  if (auth.kind !== 'certificate' || auth.expiresAt > nowMs) return undefined
  const day = new Date(auth.expiresAt).toISOString().slice(0, 10)
  return { kind: 'misconfigured', reason: `the push certificate expired on ${day}` }
}

function readReply(reply: Reply, nowMs: number): ApnsReply {
  if (reply.status === 200) return { status: 200, body: '' }
  const retryAfter = retryAfterSeconds(reply.headers, nowMs)
  return { status: reply.status, body: reply.body.toString(), retryAfter }
}
