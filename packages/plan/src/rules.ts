import { isUnsupported } from '@herald/channels'
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
import { ownReasons, publicName, type Reason } from '@herald/domain'
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

/** Returns the routing rules of a task. Whether a certificate can carry the message is computed once per certificate. */
export function rulesFor(
  task: RoutedTask,
  certificates: ApplicationCertificates,
  tried: readonly Channel[] = [],
): RouteRules {
  const statuses = new Map<string, ChannelStatus>()
  return {
    strategy: task.strategy,
    sequence: task.sequence,
    tried: new Set(tried),
    mayStore: task.ttl > 0,
    statusOf(channel, environment) {
      const key = `${channel}:${environment}`
      let status = statuses.get(key)
      if (!status) {
        status = channelStatus(task, channel, certificates, environment)
        statuses.set(key, status)
      }
      return status
    },
  }
}

function channelStatus(
  task: RoutedTask,
  channel: VendorChannel,
  certificates: ApplicationCertificates,
  environment: number,
): ChannelStatus {
  const certificate = certificates.serving(channel, environment)
  if ('problem' in certificate) return { unusable: certificate.problem }
  const payload = payloadOf(
    { ...task, taskId: task.taskId ?? Number.MAX_SAFE_INTEGER },
    certificate,
    certificates.applicationName,
  )
  if ('unsupported' in payload) return { unusable: payload.unsupported }
  const { stored } = certificate
  return {
    certificateId: stored.id,
    unavailable:
      stored.state === 'closed'
        ? ownReasons.certificate_closed(publicName(channel), stored.lastError)
        : undefined,
  }
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
    const payload = certificate.adapter.mapPayload(
      {
        taskId: task.taskId,
        message: task.message,
        messageClass: classOf(task, certificate),
        ttl: task.ttl,
        applicationName,
        callbackUrl: certificate.callbackUrl,
        now: Math.floor(Date.now() / 1000),
      },
      certificate.settings,
    )
    if (!isUnsupported(payload)) return { payload }
    return { unsupported: ownReasons.unsupported_by_vendor(name, payload.unsupported) }
  } catch (error) {
    return { unsupported: ownReasons.payload_unbuildable(name, (error as Error).message) }
  }
}

export function classOf(task: Pick<RoutedTask, 'messageClass'>, certificate: ReadCertificate): MessageClass {
  return task.messageClass ?? certificate.adapter.defaultClass(certificate.settings)
}
