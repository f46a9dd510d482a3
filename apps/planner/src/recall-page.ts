import type { Database } from '@herald/db/store'
import {
  devicesById,
  type PlannedTask,
  recallSlices,
  type SentBatch,
  sentNatively,
  sentToVendors,
} from '@herald/db/tasks'
import { cardOf, type NewBatch, type Plan, planDevices, type VendorChannel } from '@herald/domain'
import { type ApplicationCertificates, type CertificateCache, payloadOf, rulesFor } from '@herald/plan'

type RecallPage = { no: number; lo: number; hi: number }

/**
 * Plans a page of a recall: the recipients that the first task was sent to, each on the channel that sent to it. Nobody moves to another
 * channel: there is nothing to take away there. Returns undefined if the page is too large.
 */
export async function planRecallPage(
  deps: { db: Database; certificates: CertificateCache },
  task: PlannedTask,
  page: RecallPage,
  max: number,
): Promise<{ plan: Plan; devices: number } | undefined> {
  const recall = task.message.recall!
  const range = { ...page, withMoved: recall.withdraw === true }
  const certificates = await deps.certificates.of(task.appId)
  if (page.no === recallSlices.native) {
    const ids = await sentNatively(deps.db, recall.taskId, { ...range, max })
    if (!ids) return undefined
    const devices = ids.length === 0 ? [] : await devicesById(deps.db.pool, ids)
    return { plan: planDevices(devices, rulesFor(task, certificates)), devices: devices.length }
  }
  const sent = await sentToVendors(deps.db, recall.taskId, range)
  return sent && { plan: planVendors(task, sent, certificates), devices: countOf(sent) }
}

const countOf = (batches: SentBatch[]) => batches.reduce((sum, { recipients }) => sum + recipients.length, 0)

/** Channels and certificates that cannot recall the message are no targets, as in the planning of a push. */
function planVendors(task: PlannedTask, sent: SentBatch[], certificates: ApplicationCertificates): Plan {
  const plan: Plan = { batches: [], inbox: [], unreachable: 0 }
  for (const { channel, certificateId, topic, recipients } of sent) {
    if (recipients.length === 0) continue
    if (!canRecall(task, channel as VendorChannel, certificateId, certificates)) {
      plan.unreachable += recipients.length
      continue
    }
    const batch: NewBatch = {
      channel,
      certificateId: certificateId ?? undefined,
      topic: topic ?? undefined,
      recipients,
      tried: ['native'],
    }
    plan.batches.push(batch)
  }
  return plan
}

function canRecall(
  task: PlannedTask,
  channel: VendorChannel,
  certificateId: number | null,
  certificates: ApplicationCertificates,
): boolean {
  const { recall } = cardOf(channel)
  if (recall === 'none' || (task.message.recall?.withdraw && recall !== 'withdraw')) return false
  const certificate = certificates.byId(certificateId ?? 0)
  if ('problem' in certificate) return certificate.sealedId !== undefined
  return !('unsupported' in payloadOf(task, certificate, certificates.applicationName))
}
