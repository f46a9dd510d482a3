import { rootCertificates } from 'node:tls'
import { type Outcome, parseVerbatim } from '@herald/domain'
import type { Notification, Provider, ProviderOptions, ResponseFailure } from 'apn'
import type { Recipient, SendContext, Transport, TransportDeps } from '../channel.ts'
import { classify } from './classify.ts'
import { type ApnsPayload, bodyOf } from './payload.ts'
import type { ApnsSettings } from './settings.ts'
import { groupByTopic, notAllowed } from './topics.ts'
import { originOf, probe } from './transport.ts'

type Apn = typeof import('apn')

const atOnce = 100

/**
 * The same notifications through `apn`, as the reference for our own transport. It signs its own provider tokens, so it
 * shares none with other processes, and it neither tells Retry-After nor can be stopped in the middle.
 */
export function openReferenceTransport(settings: ApnsSettings, deps: TransportDeps): Transport<ApnsPayload> {
  let opened: Promise<{ apn: Apn; provider: Provider }> | undefined

  function open() {
    opened ??= import('apn').then(({ default: apn }) => ({
      apn,
      provider: new apn.Provider(optionsOf(settings, deps)),
    }))
    return opened
  }

  async function sendOne(payload: ApnsPayload, topic: string, { token, badge }: Recipient): Promise<Outcome> {
    const { apn, provider } = await open()
    const notification = writeNotification(apn, payload, topic, badge)
    const send = async (): Promise<Outcome> => {
      const { sent, failed } = await provider.send(notification, token)
      return sent.length > 0 ? { kind: 'accepted' } : readFailure(failed[0])
    }
    const outcome = await send()
    // The library has signed another token by now.
    return 'reason' in outcome && outcome.reason === '403 ExpiredProviderToken' ? send() : outcome
  }

  async function send(payload: ApnsPayload, recipients: readonly Recipient[], context: SendContext) {
    const places: [number, string][] = []
    for (const [topic, indexes] of groupByTopic(recipients, settings))
      for (const index of indexes)
        if (topic === undefined) context.report(index, notAllowed)
        else places.push([index, topic])
    let next = 0
    const worker = async () => {
      while (next < places.length && !context.signal.aborted) {
        const [index, topic] = places[next++]!
        const outcome = await sendOne(payload, topic, recipients[index]!)
        if (!context.signal.aborted) context.report(index, outcome)
      }
    }
    const aborted = new Promise<never>((_, reject) => {
      context.signal.addEventListener('abort', () => reject(context.signal.reason), { once: true })
    })
    aborted.catch(() => {})
    const first = places.shift()
    if (!first) return
    const [index, topic] = first
    // Alone: `apn` opens a hundred streams before it has heard that a new connection may have one.
    context.report(index, await Promise.race([sendOne(payload, topic, recipients[index]!), aborted]))
    await Promise.race([Promise.all(Array.from({ length: atOnce }, worker)), aborted])
    context.signal.throwIfAborted()
  }

  return {
    send,
    check: (signal) => probe(openReferenceTransport(settings, deps), signal),
    async close() {
      const { provider } = (await opened) ?? {}
      provider?.shutdown()
    },
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
    // The library writes `address` into :authority as it is, and asks a proxy for address and port together.
    address: proxy ? target.hostname : target.host,
    port: Number(target.port || 443),
    // Retry lives in the runner.
    connectionRetryLimit: 0,
    requestTimeout: deps.timeoutMs,
  }
}

/** In the words of `apn`, which writes its own JSON from them. */
function writeNotification(
  apn: Apn,
  payload: ApnsPayload,
  topic: string,
  badge: number | undefined,
): Notification {
  const { aps, ...custom } = parseVerbatim(bodyOf(payload, badge)) as {
    aps: Record<string, unknown>
  } & Record<string, unknown>
  const notification = new apn.Notification()
  notification.topic = topic
  notification.pushType = payload.pushType
  notification.priority = Number(payload.priority)
  notification.expiry = Number(payload.expiration)
  notification.collapseId = payload.collapseId
  notification.payload = custom
  if (badge !== undefined && 'badge' in aps) notification.badge = badge
  if (aps.alert) notification.alert = aps.alert as { title?: string; body: string }
  if (aps.sound) notification.sound = aps.sound as string
  if (aps['content-available']) notification.contentAvailable = true
  if (aps['mutable-content']) notification.mutableContent = true
  // Its types have no category, the library does.
  if (aps.category) Object.assign(notification, { category: aps.category })
  if (aps['thread-id']) notification.threadId = aps['thread-id'] as string
  return notification
}

function readFailure(failure: ResponseFailure | undefined): Outcome {
  const status = Number(failure?.status)
  if (!Number.isInteger(status)) return { kind: 'unavailable', reason: 'apn: no answer' }
  // It turns two reasons into errors of its own and drops their bodies.
  const reason = /^\w+$/.test(failure?.error?.message ?? '') ? failure?.error?.message : undefined
  return classify({ status, body: JSON.stringify(failure?.response ?? { reason }) }).outcome
}
