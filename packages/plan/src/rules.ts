import { isUnsupported, type Task } from '@herald/channels'
import { messageNotes } from '@herald/channels/message-notes'
import { shownHealth } from '@herald/db/certificates'
import type {
  Channel,
  ChannelStatus,
  Message,
  MessageClass,
  RouteRules,
  SequenceWord,
  Strategy,
  VendorChannel,
} from '@herald/domain'
import { cardOf, healthWarnings, ownReasons, PATIENCE_SECONDS, publicName, type Reason } from '@herald/domain'
import type { ApplicationCertificates, ReadCertificate } from './certificate-cache.ts'

/** The parts of a task that determine its routes. */
export type RoutedTask = {
  /** Undefined before the accept: the longest possible id is used, so that no payload exceeds its limit later. */
  taskId?: number
  strategy: Strategy
  sequence: readonly SequenceWord[]
  message: Message
  messageClass?: MessageClass
  ttl: number
}

const noChannels: ReadonlySet<Channel> = new Set()

/** Returns the routing rules of a task. Whether a certificate can carry the message is computed once per certificate. */
export function rulesFor(
  task: RoutedTask,
  certificates: ApplicationCertificates,
  tried: readonly Channel[] = [],
): RouteRules {
  // A list, because most tasks ask for one.
  const known: { channel: VendorChannel; environment: number; region?: string; status: ChannelStatus }[] = []
  return {
    strategy: task.strategy,
    sequence: task.sequence,
    tried: tried.length === 0 ? noChannels : new Set(tried),
    mayStore: task.ttl > 0,
    statusOf(channel, environment, region) {
      for (const one of known)
        if (one.channel === channel && one.environment === environment && one.region === region)
          return one.status
      const status = channelStatus(task, channel, certificates, environment, region)
      known.push({ channel, environment, region, status })
      return status
    },
  }
}

function channelStatus(
  task: RoutedTask,
  channel: VendorChannel,
  certificates: ApplicationCertificates,
  environment: number,
  region: string | undefined,
): ChannelStatus {
  const certificate = certificates.serving(channel, environment, region)
  if ('problem' in certificate) {
    const { problem, sealedId } = certificate
    return sealedId === undefined ? { unusable: problem } : { certificateId: sealedId, unavailable: problem }
  }
  const payload = payloadOf(
    { ...task, taskId: task.taskId ?? Number.MAX_SAFE_INTEGER },
    certificate,
    certificates.applicationName,
  )
  if ('unsupported' in payload) return { unusable: payload.unsupported }
  return { certificateId: certificate.stored.id, ...availability(certificate, Date.now()) }
}

/** Whether a certificate sends at present. */
export function availability(
  { stored, breaker }: Pick<ReadCertificate, 'stored' | 'breaker'>,
  now: number,
): Pick<ChannelStatus, 'unavailable' | 'resting'> {
  const name = publicName(stored.channel)
  if (stored.state === 'closed') return { unavailable: ownReasons.certificate_closed(name, stored) }
  if (!breaker) return {}
  // When a probe is due the channel counts as usable, otherwise no device would be routed to it and nothing would be sent as a probe.
  const isPatient = now - breaker.openedAt < PATIENCE_SECONDS * 1000 || breaker.retryAt <= now
  return { resting: true, unavailable: isPatient ? undefined : ownReasons.vendor_silent(name, breaker) }
}

/**
 * Returns the vendor's payload of a task, or why the vendor cannot carry it. A mapper that throws has a defect; it must affect
 * this message on this channel only, so the error is not rethrown: it would stop the planner or leave a job unsettled.
 */
export function payloadOf(
  task: Pick<RoutedTask, 'message' | 'messageClass' | 'ttl'> & { taskId: number },
  certificate: ReadCertificate,
  applicationName: string,
): { payload: unknown } | { unsupported: Reason } {
  const name = publicName(certificate.stored.channel)
  try {
    const payload = mapTask(task, certificate, applicationName)
    if (!isUnsupported(payload)) return { payload }
    return { unsupported: ownReasons.unsupported_by_vendor(name, payload.unsupported) }
  } catch (error) {
    return { unsupported: ownReasons.payload_unbuildable(name, (error as Error).message) }
  }
}

function mapTask(
  task: Parameters<typeof payloadOf>[0],
  certificate: ReadCertificate,
  applicationName: string,
): unknown {
  const { adapter, settings } = certificate
  const vendorsTask = vendorTask(task, certificate, applicationName)
  if (!task.message.recall?.withdraw) return adapter.mapPayload(vendorsTask, settings)
  return (
    adapter.withdrawal?.(vendorsTask, settings) ?? {
      unsupported: `${cardOf(adapter.name).title.en} cannot withdraw a message`,
    }
  )
}

/**
 * English sentences on what a certificate would make of a task: what the vendor does not carry of the message, and what it refuses
 * or leaves unanswered at present.
 */
export function notesOf(
  task: RoutedTask,
  certificate: ReadCertificate,
  applicationName: string,
  now: number,
): string[] {
  const { adapter, settings, stored } = certificate
  const { holds, ...health } = shownHealth({ ...stored, ...certificate }, now)
  const named = { ...task, taskId: task.taskId ?? Number.MAX_SAFE_INTEGER }
  return [
    ...messageNotes(adapter, vendorTask(named, certificate, applicationName), settings),
    ...healthWarnings(cardOf(stored.channel).title.en, {
      ...health,
      holds: holds.filter(({ active }) => active),
      check_error: null,
    }),
  ]
}

function vendorTask(
  task: Pick<RoutedTask, 'message' | 'messageClass' | 'ttl'> & { taskId: number },
  certificate: ReadCertificate,
  applicationName: string,
): Task {
  return {
    taskId: task.taskId,
    message: task.message,
    messageClass: classOf(task, certificate),
    ttl: task.ttl,
    applicationName,
    callbackUrl: certificate.callbackUrl,
    now: Math.floor(Date.now() / 1000),
  }
}

export function classOf(task: Pick<RoutedTask, 'messageClass'>, certificate: ReadCertificate): MessageClass {
  return task.messageClass ?? certificate.adapter.defaultClass(certificate.settings)
}
