import { type Outcome, ownReasons } from '@herald/domain'
import type { Reply } from '@herald/http2'
import type { CheckResult, Recipient, SendContext, Transport, TransportDeps } from '../channel.ts'
import { untilAborted } from '../shared/abort.ts'
import { openConnections } from '../shared/connections.ts'
import { retryAfterSeconds } from '../shared/http.ts'
import { failedCheck } from '../shared/outcome.ts'
import { reason } from '../shared/reason.ts'
import { countInARow, refusalsToStop } from '../shared/refusals-in-a-row.ts'
import { openVendorPool, type VendorPool } from '../shared/vendor-pool.ts'
import { type PushType, topicOf, usesDeviceToken } from './card-push-types.ts'
import {
  type ApnsReply,
  type ApnsResult,
  classify,
  classifyFailure,
  classifyGoaway,
  type RetryWith,
  topicRefusals,
} from './classify.ts'
import { type ApnsPayload, bodyOf, slotOf } from './payload.ts'
import {
  createProviderToken,
  isRenewalDue,
  isYoung,
  mayReplaceExpired,
  mayReplaceInvalid,
  type ProviderToken,
  parseProviderToken,
  providerTokenKey,
} from './provider-token.ts'
import type { ApnsSettings } from './settings.ts'
import { groupByTopic, topicNotAllowed } from './topics.ts'

/** Recipients, by index, whose requests have these headers in common. `payloads` are by index too, if each has its own. */
type Group = {
  topic: string
  pushType: PushType
  priority: ApnsPayload['priority']
  indexes: number[]
  recipients: readonly Recipient[]
  payload: ApnsPayload | readonly ApnsPayload[]
}

/** What one call of `send` has learnt about the credential. */
type Knowledge = {
  /** APNs has accepted it. */
  valid: boolean
  /** What all remaining recipients would get. */
  refusal?: Outcome
}

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
    // One token for all certificates with this key: Apple limits new tokens per key, and perhaps per address.
    const value = await untilAborted(
      deps.session(providerTokenKey(auth), mint, stale?.value, 'shared'),
      signal,
    )
    cached = parseProviderToken(value)
    return cached
  }

  /** One request per recipient. Returns those to retry with a new token or connection; none if `last`. */
  async function round(
    group: Group,
    token: ProviderToken | undefined,
    context: SendContext,
    known: Knowledge,
    last: boolean,
  ): Promise<{ retry: number[]; retryWith?: RetryWith }> {
    const { indexes, recipients, pushType } = group
    const lease = connections.lease()
    // Does not cancel requests in flight: those that APNs has accepted would be sent again.
    const stop = new AbortController()
    const retry: number[] = []
    const refusals = countInARow()
    let stoppedBy: ApnsResult | undefined

    const settle = (index: number, result: ApnsResult) => {
      const { outcome, concerns, passing, stopsAfter = 1 } = result
      if (result.endsConnection) lease.retire()
      // APNs looks for the device only after it has accepted the credential.
      if (outcome.kind === 'accepted' || outcome.kind === 'gone') known.valid = true
      const inARow = refusals.note(concerns !== undefined)
      if (concerns && !stoppedBy && inARow >= (passing && known.valid ? refusalsToStop : stopsAfter)) {
        stoppedBy = result
        stop.abort()
      }
      if (result.retryWith && !last) retry.push(index)
      else context.report(index, ownToken(pushType, outcomeOf(result, known)))
    }

    try {
      await lease.pool.multicast({
        ...requestOf(group, token),
        count: indexes.length,
        path: (at) => `/3/device/${recipients[indexes[at]!]!.token}`,
        signal: context.signal,
        stopSending: stop.signal,
        onReply: (at, reply) => settle(indexes[at]!, classify(readReply(reply, deps.now()))),
        onFailure(at, failure) {
          // When the process stops, the recipients stay unreported, which the runner treats as unknown.
          if (context.signal.aborted) return
          settle(indexes[at]!, stoppedBy ?? classifyFailure(failure))
        },
      })
    } finally {
      lease.release()
    }
    const willRetry = stoppedBy?.retryWith !== undefined && !last
    if (stoppedBy?.concerns === 'credential' && !willRetry) known.refusal = outcomeOf(stoppedBy, known)
    return { retry, retryWith: stoppedBy?.retryWith }
  }

  async function sendGroup(group: Group, context: SendContext, known: Knowledge): Promise<void> {
    const token = await providerToken(context.signal)
    const { retry, retryWith } = await round(group, token, context, known, false)
    if (retry.length === 0 || context.signal.aborted) return
    const now = deps.now()
    if (retryWith === 'new-token' && token && !mayReplaceExpired(token, now)) {
      known.refusal = newTokenExpired
      for (const index of retry) context.report(index, newTokenExpired)
      return
    }
    const isStale =
      retryWith === 'new-token' || (retryWith === 'new-connection' && token && mayReplaceInvalid(token, now))
    const fresh = await providerToken(context.signal, isStale ? token : undefined)
    await round({ ...group, indexes: retry }, fresh, context, known, true)
  }

  async function send(
    payload: ApnsPayload | readonly ApnsPayload[],
    recipients: readonly Recipient[],
    context: SendContext,
  ) {
    const expired = expiredCertificate(settings, deps.now())
    if (expired) {
      for (let index = 0; index < recipients.length; index++) context.report(index, expired)
      return
    }
    const known: Knowledge = { valid: false }
    for (const [topic, some] of groupByTopic(recipients, settings)) {
      for (const { pushType, priority, indexes } of groupByHeaders(payload, some)) {
        context.signal.throwIfAborted()
        const settled = topic === undefined ? topicNotAllowed : known.refusal
        if (settled) for (const index of indexes) context.report(index, settled)
        else
          await sendGroup({ topic: topic!, pushType, priority, indexes, recipients, payload }, context, known)
      }
    }
    context.signal.throwIfAborted()
  }

  return {
    send,
    sendEach: send,
    check: (signal) => probe(openTransport(settings, deps), settings.topics, signal),
    close: connections.close,
  }
}

const isEach = (payload: Group['payload']): payload is readonly ApnsPayload[] => Array.isArray(payload)

/** The parts of `indexes` whose payloads have the same push type and priority. */
function groupByHeaders(
  payload: Group['payload'],
  indexes: number[],
): Pick<Group, 'pushType' | 'priority' | 'indexes'>[] {
  if (!isEach(payload)) return [{ pushType: payload.pushType, priority: payload.priority, indexes }]
  const groups = new Map<string, Pick<Group, 'pushType' | 'priority' | 'indexes'>>()
  for (const index of indexes) {
    const { pushType, priority } = payload[index]!
    const key = `${pushType} ${priority}`
    const group = groups.get(key)
    if (group) group.indexes.push(index)
    else groups.set(key, { pushType, priority, indexes: [index] })
  }
  return [...groups.values()]
}

/** The headers and bodies of a group. What all its requests have in common is in the server's table after the first. */
function requestOf(
  { topic, pushType, priority, indexes, recipients, payload }: Group,
  token: ProviderToken | undefined,
): Pick<Parameters<VendorPool['multicast']>[0], 'headers' | 'varying' | 'body'> {
  const common = {
    ...(token ? { authorization: token.authorization } : {}),
    'apns-topic': topicOf(topic, pushType),
    'apns-push-type': pushType,
    'apns-priority': priority,
  }
  if (isEach(payload))
    return {
      headers: common,
      varying: [
        { name: 'apns-expiration', textOf: (at) => payload[indexes[at]!]!.expiration },
        { name: 'apns-collapse-id', textOf: (at) => payload[indexes[at]!]!.collapseId },
      ],
      body(at) {
        const index = indexes[at]!
        const { badge, timestamp } = recipients[index]!
        return bodyOf(payload[index]!, badge, timestamp)
      },
    }
  return {
    headers: {
      ...common,
      'apns-expiration': payload.expiration,
      ...(payload.collapseId === undefined ? {} : { 'apns-collapse-id': payload.collapseId }),
    },
    body: {
      before: payload.beforeBadge,
      slot: (at) => slotOf(payload, recipients[indexes[at]!]!),
      after: payload.afterBadge,
    },
  }
}

/**
 * Types with tokens of their own are refused for an ordinary token as one of another topic. The binding is kept: retiring it would end
 * the alerts of the device, because somebody sent it one push of another type.
 */
export function ownToken(pushType: PushType, outcome: Outcome): Outcome {
  if (outcome.kind !== 'gone' || usesDeviceToken(pushType) || pushType === 'liveactivity') return outcome
  return { kind: 'rejected', reason: outcome.reason }
}

/** Apple takes no second token within 20 minutes. */
const newTokenExpired: Outcome = {
  kind: 'unavailable',
  reason: reason(
    'apns',
    'ExpiredProviderToken',
    '403 ExpiredProviderToken for a new token: check the clock of this server',
    'new_token',
  ),
  minWait: 60,
}

/** A refusal of a credential that APNs accepted a moment ago will pass. */
function outcomeOf({ outcome, passing }: ApnsResult, { valid }: Knowledge): Outcome {
  return passing && valid && outcome.kind === 'misconfigured'
    ? { kind: 'unavailable', reason: outcome.reason }
    : outcome
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

/**
 * Asks for every topic: one that APNs refuses does not show that the credential is wrong. Uses its own connection, because APNs counts
 * unknown devices per connection.
 */
export async function probe(
  transport: Transport<ApnsPayload>,
  topics: readonly string[],
  signal: AbortSignal,
): Promise<CheckResult> {
  const outcomes = topics.map((): Outcome => ({ kind: 'unavailable', reason: ownReasons.no_result }))
  const recipients = topics.map((bundleId) => ({ deviceId: 0, token: noDevice, bundleId }))
  const report = (index: number, outcome: Outcome) => {
    outcomes[index] = outcome
  }
  try {
    await transport.send(probePayload, recipients, { signal, report })
  } catch {
    return { ok: false, problem: 'the check was stopped before APNs replied', temporary: true }
  } finally {
    await transport.close()
  }
  return readProbe(topics, outcomes)
}

function readProbe(topics: readonly string[], outcomes: readonly Outcome[]): CheckResult {
  const refused = topics.filter((_, index) => {
    const outcome = outcomes[index]!
    return outcome.kind === 'rejected' && topicRefusals.has(outcome.reason.code)
  })
  const failed = outcomes.find(
    ({ kind }, index) => kind !== 'accepted' && kind !== 'gone' && !refused.includes(topics[index]!),
  )
  if (failed) return failedCheck('APNs', failed)
  if (refused.length === 0) return { ok: true }
  const named = `APNs accepts the credential, but not for ${refused.join(', ')}`
  const advice =
    'correct app_id or extra.bundle_ids, or allow the bundle id for the key in the Apple developer account'
  if (refused.length === topics.length) return { ok: false, problem: `${named}: ${advice}`, temporary: true }
  return { ok: true, warnings: [`${named}: ${advice}.`] }
}

/** Without this check the TLS handshake would fail, which looks like an outage of APNs. */
function expiredCertificate({ auth }: ApnsSettings, nowMs: number): Outcome | undefined {
  if (auth.kind !== 'certificate' || auth.expiresAt > nowMs) return undefined
  const day = new Date(auth.expiresAt).toISOString().slice(0, 10)
  return { kind: 'misconfigured', reason: ownReasons.push_certificate_expired(day) }
}

function readReply(reply: Reply, nowMs: number): ApnsReply {
  if (reply.status === 200) return { status: 200, body: '', now: nowMs }
  const retryAfter = retryAfterSeconds(reply.headers, nowMs)
  return { status: reply.status, body: reply.body.toString(), retryAfter, now: nowMs }
}
