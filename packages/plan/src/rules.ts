import { isUnsupported, type Unsupported } from '@herald/channels'
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
import { publicName } from '@herald/domain'
import type { ApplicationCertificates, ReadCertificate } from './certificate-book.ts'

/** The parts of a task that decide its routes. */
export type RoutedTask = {
  /** Unknown before the accept; the longest possible id then stands in, so that no payload outgrows its limit later. */
  taskId?: number
  strategy: Strategy
  sequence: readonly SequenceWord[]
  message: Message
  messageClass?: MessageClass
  ttl: number
}

/** What route() may use for a task: each certificate is asked once whether it can carry the message. */
export function rulesFor(
  task: RoutedTask,
  certificates: ApplicationCertificates,
  tried: readonly Channel[] = [],
): RouteRules {
  const ways = new Map<string, ChannelStatus>()
  return {
    strategy: task.strategy,
    sequence: task.sequence,
    tried: new Set(tried),
    mayStore: task.ttl > 0,
    statusOf(channel, environment) {
      const key = `${channel}:${environment}`
      let way = ways.get(key)
      if (!way) {
        way = judgeWay(task, channel, certificates, environment)
        ways.set(key, way)
      }
      return way
    },
  }
}

function judgeWay(
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
  if ('unsupported' in payload) {
    return { unusable: `${publicName(channel)} cannot carry this message: ${payload.unsupported}` }
  }
  const { stored } = certificate
  return {
    certificateId: stored.id,
    closed:
      stored.state === 'closed'
        ? `${publicName(channel)} is closed until its certificate is mended (${stored.lastError ?? 'refused by the vendor'})`
        : undefined,
  }
}

/**
 * The vendor's payload of a task on one certificate, or why it cannot be carried. A mapper that throws is a defect, and must
 * be one of this message on this channel alone: thrown on, it would stop a planner, or leave a whole job unsettled.
 */
export function payloadOf(
  task: Pick<RoutedTask, 'message' | 'messageClass' | 'ttl'> & { taskId: number },
  certificate: ReadCertificate,
  applicationName: string,
): { payload: unknown } | Unsupported {
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
    return isUnsupported(payload) ? payload : { payload }
  } catch (error) {
    return { unsupported: `its form could not be made (${(error as Error).message})` }
  }
}

export function classOf(task: Pick<RoutedTask, 'messageClass'>, certificate: ReadCertificate): MessageClass {
  return task.messageClass ?? certificate.adapter.defaultClass(certificate.settings)
}
