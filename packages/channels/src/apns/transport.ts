import { type Outcome, ownReasons } from '@herald/domain'
import type { Reply } from '@herald/http2'
import type { CheckResult, Recipient, SendContext, Transport, TransportDeps } from '../channel.ts'
import { abortWith, untilAborted } from '../shared/abort.ts'
import { retryAfterSeconds } from '../shared/http.ts'
import { failedCheck } from '../shared/outcome.ts'
import { reason } from '../shared/reason.ts'
import { openVendorPool } from '../shared/vendor-pool.ts'
import {
  type ApnsReply,
  type ApnsResult,
  classify,
  classifyFailure,
  classifyGoaway,
  type RetryWith,
} from './classify.ts'
import { openConnections } from './connections.ts'
import { type ApnsPayload, badgeSlot } from './payload.ts'
import {
  createProviderToken,
  isRenewalDue,
  isYoung,
  mayReplace,
  type ProviderToken,
  parseProviderToken,
  providerTokenKey,
} from './provider-token.ts'
import type { ApnsSettings } from './settings.ts'
import { groupByTopic, topicNotAllowed } from './topics.ts'

/** The recipients of one topic, by index. */
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
  let cached: ProviderToken | undefined

  /** `stale` is the token that APNs just refused. */
  async function providerToken(
    signal: AbortSignal,
    stale?: ProviderToken,
  ): Promise<ProviderToken | undefined> {
    if (auth.kind !== 'token') return undefined
    const now = deps.now()
    // The shared session costs a query; a refusal shows soon enough that another process has replaced the token.
    if (cached && cached.value !== stale?.value && !isRenewalDue(cached, now)) return cached
    const early = stale !== undefined && isYoung(stale, now)
    const mint = async () => createProviderToken(auth, deps.now(), early)
    const value = await untilAborted(deps.session(providerTokenKey(auth), mint, stale?.value), signal)
    cached = parseProviderToken(value)
    return cached
  }

  /** One request per recipient. Returns those to retry with a new token or connection; none if `last`. */
  async function round(
    payload: ApnsPayload,
    { topic, indexes, recipients }: Group,
    token: ProviderToken | undefined,
    context: SendContext,
    last: boolean,
  ): Promise<{ retry: number[]; retryWith?: RetryWith }> {
    const lease = connections.lease()
    const stop = new AbortController()
    const unlink = abortWith(stop, context.signal)
    const retry: number[] = []
    let stoppedBy: ApnsResult | undefined

    const settle = (index: number, result: ApnsResult) => {
      if (result.endsConnection) lease.retire()
      if (result.concernsAll && !stoppedBy) {
        stoppedBy = result
        stop.abort()
      }
      if (result.retryWith && !last) retry.push(index)
      else context.report(index, result.outcome)
    }

    try {
      await lease.pool.multicast({
        headers: {
          ...(token ? { authorization: `bearer ${token.jwt}` } : {}),
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
          // When the process stops, the recipients stay unreported, which the runner treats as unknown.
          if (context.signal.aborted) return
          settle(indexes[at]!, stoppedBy ?? classifyFailure(failure))
        },
      })
    } finally {
      unlink()
      lease.release()
    }
    return { retry, retryWith: stoppedBy?.retryWith }
  }

  async function sendGroup(payload: ApnsPayload, group: Group, context: SendContext): Promise<void> {
    const token = await providerToken(context.signal)
    const { retry, retryWith } = await round(payload, group, token, context, false)
    if (retry.length === 0 || context.signal.aborted) return
    if (retryWith === 'new-token' && token && !mayReplace(token, deps.now())) {
      const text = '403 ExpiredProviderToken for a new token: check the clock of this server'
      const refused: Outcome = {
        kind: 'misconfigured',
        reason: reason('apns', 'ExpiredProviderToken', text, 'new_token'),
      }
      for (const index of retry) context.report(index, refused)
      return
    }
    const fresh = await providerToken(context.signal, retryWith === 'new-token' ? token : undefined)
    await round(payload, { ...group, indexes: retry }, fresh, context, true)
  }

  async function send(payload: ApnsPayload, recipients: readonly Recipient[], context: SendContext) {
    const expired = expiredCertificate(settings, deps.now())
    if (expired) {
      for (let index = 0; index < recipients.length; index++) context.report(index, expired)
      return
    }
    for (const [topic, indexes] of groupByTopic(recipients, settings)) {
      context.signal.throwIfAborted()
      if (topic === undefined) for (const index of indexes) context.report(index, topicNotAllowed)
      else await sendGroup(payload, { topic, indexes, recipients }, context)
    }
    context.signal.throwIfAborted()
  }

  return { send, check: (signal) => probe(openTransport(settings, deps), signal), close: connections.close }
}

export function originOf({ environment }: ApnsSettings, { urls }: TransportDeps): string {
  return new URL(environment === 'production' ? urls.apns : urls.apnsSandbox).origin
}

/** Well-formed, but of no device: APNs checks the credentials before it looks for the device. */
const noDevice = '0'.repeat(64)

const probePayload: ApnsPayload = {
  pushType: 'background',
  priority: '5',
  expiration: '0',
  collapseId: 'herald-check',
  beforeBadge: '{"aps":{',
  afterBadge: '"content-available":1}}',
}

/** Uses its own connection: APNs counts unknown devices per connection. */
export async function probe(transport: Transport<ApnsPayload>, signal: AbortSignal): Promise<CheckResult> {
  let outcome = { kind: 'unavailable', reason: ownReasons.no_result } as Outcome
  const report = (_index: number, reported: Outcome) => {
    outcome = reported
  }
  try {
    await transport.send(probePayload, [{ deviceId: 0, token: noDevice }], { signal, report })
  } catch {
    return { ok: false, problem: 'the check was stopped before APNs replied', temporary: true }
  } finally {
    await transport.close()
  }
  if (outcome.kind === 'accepted' || outcome.kind === 'gone') return { ok: true }
  return failedCheck('APNs', outcome, outcome.kind === 'unavailable' || outcome.kind === 'throttled')
}

/** Without this check the TLS handshake would fail, which looks like an outage of APNs. */
function expiredCertificate({ auth }: ApnsSettings, nowMs: number): Outcome | undefined {
  if (auth.kind !== 'certificate' || auth.expiresAt > nowMs) return undefined
  const day = new Date(auth.expiresAt).toISOString().slice(0, 10)
  return { kind: 'misconfigured', reason: ownReasons.push_certificate_expired(day) }
}

function readReply(reply: Reply, nowMs: number): ApnsReply {
  if (reply.status === 200) return { status: 200, body: '' }
  const retryAfter = retryAfterSeconds(reply.headers, nowMs)
  return { status: reply.status, body: reply.body.toString(), retryAfter }
}
