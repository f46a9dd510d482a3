import { rootCertificates } from 'node:tls'
import { eachConcurrently } from '@herald/async'
import { type Outcome, ownReasons, parseVerbatim } from '@herald/domain'
import apn, { type Notification, type ProviderOptions, type ResponseFailure } from 'apn'
import type { Recipient, SendContext, Transport, TransportDeps } from '../channel.ts'
import { untilAborted } from '../shared/abort.ts'
import { topicOf } from './card-push-types.ts'
import { classify } from './classify.ts'
import { type ApnsPayload, bodyOf } from './payload.ts'
import type { ApnsSettings } from './settings.ts'
import { groupByTopic, topicNotAllowed } from './topics.ts'
import { originOf, ownToken, probe } from './transport.ts'

const maxConcurrent = 100

/**
 * Sends the same notifications through `apn`, to compare it with our own client. It signs its own provider tokens, so it shares
 * none with other processes. It does not return Retry-After and cannot be stopped.
 */
export function openReferenceTransport(settings: ApnsSettings, deps: TransportDeps): Transport<ApnsPayload> {
  const provider = new apn.Provider(optionsOf(settings, deps))

  async function sendOne(payload: ApnsPayload, topic: string, recipient: Recipient): Promise<Outcome> {
    const notification = writeNotification(payload, topic, recipient)
    const send = async (): Promise<Outcome> => {
      const { sent, failed } = await provider.send(notification, recipient.token)
      return sent.length > 0 ? { kind: 'accepted' } : readFailure(failed[0], deps.now())
    }
    const outcome = await send()
    // The library has signed a new token by now.
    return 'reason' in outcome && outcome.reason.code === 'apns.ExpiredProviderToken' ? send() : outcome
  }

  async function send(payload: ApnsPayload, recipients: readonly Recipient[], context: SendContext) {
    const { signal, report } = context
    const targets: [index: number, topic: string][] = []
    for (const [topic, indexes] of groupByTopic(recipients, settings))
      for (const index of indexes)
        if (topic === undefined) report(index, topicNotAllowed)
        else targets.push([index, topic])
    const sendTo = async ([index, topic]: [number, string]) => {
      if (signal.aborted) return
      const outcome = await sendOne(payload, topic, recipients[index]!)
      if (!signal.aborted) report(index, ownToken(payload.pushType, outcome))
    }
    // The first one alone: `apn` opens a hundred streams although a new connection may allow only one.
    await untilAborted(eachConcurrently(targets.slice(0, 1), 1, sendTo), signal)
    await untilAborted(eachConcurrently(targets.slice(1), maxConcurrent, sendTo), signal)
    signal.throwIfAborted()
  }

  return {
    send,
    check: (signal) => probe(openReferenceTransport(settings, deps), settings.topics, signal),
    close: async () => provider.shutdown(),
  }
}

function optionsOf(settings: ApnsSettings, deps: TransportDeps): ProviderOptions {
  const { auth } = settings
  const target = new URL(originOf(settings, deps))
  const proxy = deps.proxy ? new URL(deps.proxy) : undefined
  return {
    ...(auth.kind === 'token'
      ? {
          token: {
            key: auth.key.export({ type: 'pkcs8', format: 'pem' }).toString(),
            keyId: auth.keyId,
            teamId: auth.teamId,
          },
        }
      : { cert: auth.cert, key: auth.key }),
    ...(deps.ca ? { ca: [...rootCertificates, deps.ca] } : {}),
    ...(proxy ? { proxy: { host: proxy.hostname, port: Number(proxy.port || 80) } } : {}),
    // The library uses `address` as :authority, and sends a proxy both address and port.
    address: proxy ? target.hostname : target.host,
    port: Number(target.port || 443),
    // Retries are the runner's task.
    connectionRetryLimit: 0,
    requestTimeout: deps.timeoutMs,
  }
}

/** The library's names of the fields of `aps`; it has names of its own for some. */
const setters: Readonly<Record<string, string>> = {
  'target-content-id': 'targetContentIdentifier',
}

/** Fields whose content is the caller's JSON, in which numbers must keep their digits. */
const verbatim: ReadonlySet<string> = new Set(['content-state', 'attributes'])

/** Translates the payload to `apn`'s fields, from which it writes its own JSON. */
function writeNotification(payload: ApnsPayload, topic: string, recipient: Recipient): Notification {
  const body = bodyOf(payload, recipient.badge, recipient.timestamp)
  const read = parseVerbatim(body) as { aps?: Record<string, unknown> } & Record<string, unknown>
  const { aps, ...custom } = read
  const notification = new apn.Notification()
  notification.topic = topicOf(topic, payload.pushType)
  // The library sends any type, but its types do not list all.
  notification.pushType = payload.pushType as Notification['pushType']
  notification.priority = Number(payload.priority)
  notification.expiry = Number(payload.expiration)
  if (payload.collapseId !== undefined) notification.collapseId = payload.collapseId
  const plain = (JSON.parse(body).aps ?? {}) as Record<string, unknown>
  // The library has no fields for types without `aps`, or with an empty one.
  if (Object.keys(plain).length === 0) notification.rawPayload = read
  else {
    notification.payload = custom
    for (const [name, value] of Object.entries(plain)) {
      const field = setters[name] ?? name.replaceAll(/-(.)/g, (_, next: string) => next.toUpperCase())
      // The library's types lack some of its fields.
      Object.assign(notification, { [field]: verbatim.has(name) ? aps![name] : value })
    }
  }
  return notification
}

function readFailure(failure: ResponseFailure | undefined, now: number): Outcome {
  const status = Number(failure?.status)
  if (!Number.isInteger(status))
    return { kind: 'unavailable', reason: ownReasons.vendor_unreachable('apn: no reply') }
  // For two reasons the library returns its own errors without the body.
  const reason = /^\w+$/.test(failure?.error?.message ?? '') ? failure?.error?.message : undefined
  return classify({ status, body: JSON.stringify(failure?.response ?? { reason }), now }).outcome
}
