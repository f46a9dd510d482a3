import type { Outcome } from '@herald/domain'
import type { CheckResult, MintedSession, Recipient, Transport, TransportDeps } from '../channel.ts'
import { untilAborted } from '../shared/abort.ts'
import { callWithAccessToken, sessionKey } from '../shared/access-token.ts'
import { refusalHoldMs } from '../shared/hold-refusals.ts'
import { type HttpReply, joinUrl } from '../shared/http.ts'
import { openHttpClient } from '../shared/http-client.ts'
import {
  CallRefused,
  concernsAll,
  failedCheck,
  isRefusedOrUnanswered,
  outcomeOfError,
} from '../shared/outcome.ts'
import { halvesOf } from '../shared/too-large.ts'
import { authForm, readAuth } from './auth.ts'
import {
  type CodeResult,
  classifyAuth,
  classifySend,
  isAddOn,
  isClockRefused,
  type SendResult,
} from './classify.ts'
import type { OppoNotification } from './notification.ts'
import { type AddOn, type OppoPayload, withoutAddOn } from './payload.ts'
import { authPath, batchPath, maxBatchBytes, openWriter, splitBySize, unicastPath } from './request.ts'
import type { OppoSettings } from './settings.ts'
import { regionOf } from './token.ts'

/** An auth token is valid at the host that made it. */
type Host = { base: string; sessionKey: string }

/** A notification for some of the recipients, by their indexes. Their tokens are of the host's region. */
type Part = {
  host: Host
  notification: OppoNotification
  writer: ReturnType<typeof openWriter>
  indexes: readonly number[]
  /** The refusal after which fields were left out. */
  refused?: { addOn: AddOn; outcome: Outcome }
}

export function openTransport(settings: OppoSettings, deps: TransportDeps): Transport<OppoPayload> {
  const http = openHttpClient(deps)
  const credential = [settings.appKey, settings.masterSecret]
  const mainland: Host = { base: deps.urls.oppo, sessionKey: sessionKey('auth_token', ...credential) }
  const { oppoIntl } = deps.urls
  const hosts: Record<OppoSettings['region'], Host> = {
    cn: mainland,
    intl: oppoIntl
      ? { base: oppoIntl, sessionKey: sessionKey('auth_token', ...credential, 'intl') }
      : mainland,
  }
  const own = hosts[settings.region]

  function post({ base }: Host, path: string, body: string, signal?: AbortSignal): Promise<HttpReply> {
    return http.call({
      url: joinUrl(base, path),
      headers: { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' },
      body,
      signal,
    })
  }

  async function mint(host: Host): Promise<MintedSession> {
    let reply = await post(host, authPath, authForm(settings, deps.now()))
    if (isClockRefused(reply)) {
      // If our clock is wrong, sign with OPPO's time, which its replies contain.
      const date = Date.parse(reply.headers.date ?? '')
      reply = await post(host, authPath, authForm(settings, Number.isNaN(date) ? deps.now() : date))
    }
    const minted = readAuth(reply, deps.now())
    if (!minted) throw new CallRefused(classifyAuth(reply, deps.now()))
    return minted
  }

  /** One call for one or several recipients, with a new auth token if the shared one has expired. */
  async function callOnce(
    { host, writer }: Part,
    recipients: readonly Recipient[],
    signal: AbortSignal,
  ): Promise<SendResult> {
    const [only] = recipients
    const [path, fields] =
      recipients.length === 1 ? [unicastPath, writer.unicast(only!)] : [batchPath, writer.batch(recipients)]
    try {
      return await callWithAccessToken(
        deps.session,
        host.sessionKey,
        () => mint(host),
        signal,
        async (token) => {
          const reply = await post(host, path, `auth_token=${encodeURIComponent(token)}&${fields}`, signal)
          const result = classifySend(reply, deps.now())
          return { result, tokenRefused: 'whole' in result && result.whole.cause === 'expired' }
        },
      )
    } catch (error) {
      return { whole: { outcome: outcomeOfError(error) } }
    }
  }

  /** Leaves out the fields that OPPO refused in earlier messages. */
  function permitted(payload: OppoPayload): OppoNotification {
    const { notification, plain, addOnsFrom } = payload
    if (addOnsFrom === 'message') return notification
    return addOnScopes.reduce(
      (kept, [addOn, scopeOf]) =>
        (deps.holds.find(scopeOf(payload)) ? withoutAddOn(kept, addOn, plain) : undefined) ?? kept,
      notification,
    )
  }

  /** Operators see that OPPO accepts their messages without these fields only. */
  function holdAddOn({ refused }: Part, payload: OppoPayload): void {
    const [, scopeOf] = addOnScopes.find(([addOn]) => addOn === refused?.addOn) ?? []
    if (!scopeOf || payload.addOnsFrom === 'message' || refused?.outcome.kind !== 'rejected') return
    deps.holds.add(scopeOf(payload), refused.outcome, deps.now() + refusalHoldMs)
  }

  /** The host of the token's region is called, whatever the region of the certificate. Its own comes first: another may not answer. */
  function byHost(recipients: readonly Recipient[]): [Host, number[]][] {
    const groups = new Map<Host, number[]>([[own, []]])
    recipients.forEach(({ token }, index) => {
      const host = hosts[regionOf(token)]
      const group = groups.get(host)
      if (group) group.push(index)
      else groups.set(host, [index])
    })
    return [...groups]
  }

  /** Another region may refuse credentials that are valid in their own: this must not close the certificate. */
  function ofHost(host: Host, outcome: Outcome): Outcome {
    return host !== own && outcome.kind === 'misconfigured'
      ? { kind: 'rejected', reason: outcome.reason }
      : outcome
  }

  return {
    async send(payload, recipients, { signal, report }) {
      const partOf = (host: Host, notification: OppoNotification, indexes: readonly number[]): Part => ({
        host,
        notification,
        writer: openWriter(payload.taskId, notification),
        indexes,
      })
      const whole = partOf(own, permitted(payload), [])
      const sizes = recipients.map(whole.writer.bytesOf)
      const parts: Part[] = byHost(recipients)
        .flatMap(([host, group]) => {
          const split = splitBySize(
            group.map((index) => sizes[index]!),
            maxBatchBytes,
          )
          return split.map((places) => ({ ...whole, host, indexes: places.map((place) => group[place]!) }))
        })
        .reverse()
      const stoppedAt = new Map<Host, Outcome>()
      for (let part = parts.pop(); part; part = parts.pop()) {
        const { host, indexes } = part
        const stopped = stoppedAt.get(host)
        const result: SendResult = stopped
          ? { whole: { outcome: stopped } }
          : await callOnce(
              part,
              indexes.map((index) => recipients[index]!),
              signal,
            )
        if ('whole' in result) {
          const { outcome, cause } = result.whole
          // OPPO refuses the whole batch because of one bad id, so the batch is halved until the bad one is alone.
          if ((cause === 'target' || cause === 'too-large') && indexes.length > 1) {
            const [first, second] = halvesOf(indexes)
            parts.push({ ...part, indexes: second }, { ...part, indexes: first })
            continue
          }
          // What concerns every request, or is too large for one device, would be the same for the rest.
          if (cause === 'too-large' || cause === 'expired' || concernsAll(outcome))
            stoppedAt.set(host, outcome)
        }
        if (!('whole' in result) || result.whole.outcome.kind === 'accepted') holdAddOn(part, payload)
        const again = new Map<AddOn, { outcome: Outcome; indexes: number[] }>()
        for (const index of indexes) {
          const { outcome, cause } = resultOf(result, recipients[index]!.token)
          if (isAddOn(cause) && withoutAddOn(part.notification, cause, payload.plain)) {
            const same = again.get(cause)
            if (same) same.indexes.push(index)
            else again.set(cause, { outcome, indexes: [index] })
          } else report(index, ofHost(host, outcome))
        }
        for (const [addOn, { outcome, indexes: refused }] of again) {
          const notification = withoutAddOn(part.notification, addOn, payload.plain)!
          parts.push({ ...partOf(host, notification, refused), refused: { addOn, outcome } })
        }
      }
    },

    async check(signal): Promise<CheckResult> {
      let minted = false
      const mintNow = () => {
        minted = true
        return mint(own)
      }
      try {
        // A new token may invalidate the old one, so the check stores its token as the shared one.
        let token = await untilAborted(deps.session(own.sessionKey, mintNow), signal)
        if (!minted) token = await untilAborted(deps.session(own.sessionKey, mintNow, token), signal)
        // The auth call also succeeds for an application that may not push. A message to an id that no device can have shows it.
        const body = new URLSearchParams({ auth_token: token, message: messageWithoutTarget })
        const result = classifySend(await post(own, unicastPath, body.toString(), signal), deps.now())
        const { outcome, cause } = resultOf(result, '')
        return cause === 'expired' || isRefusedOrUnanswered(outcome)
          ? failedCheck('OPPO', outcome)
          : { ok: true }
      } catch (error) {
        return failedCheck('OPPO', outcomeOfError(error))
      }
    },

    close: () => http.close(),
  }
}

const messageWithoutTarget = JSON.stringify({
  target_type: 2,
  target_value: 'no-such-id',
  notification: { title: 'Credentials', content: 'Are the credentials valid?', off_line: false },
})

/**
 * Refusals of these fields are held: the message does not show which of them OPPO would accept. A level belongs to the category of a class,
 * so that of another class may be accepted.
 */
const addOnScopes: readonly [AddOn, (payload: OppoPayload) => string][] = [
  ['level', ({ messageClass }) => `${messageClass} messages without notify level`],
  ['add-ons', () => 'without picture, badge and notify level'],
]

function resultOf(result: SendResult, token: string): CodeResult {
  return 'whole' in result ? result.whole : result.resultOf(token)
}
