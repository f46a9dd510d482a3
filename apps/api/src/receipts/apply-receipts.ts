import type { Receipt } from '@herald/channels'
import { retireReported } from '@herald/db/devices'
import { type Database, timeOfTaskId } from '@herald/db/store'
import { devicesOfTokens, findRecipients, type ReceiptToRecord } from '@herald/db/tasks'
import type { ReadCertificate } from '@herald/plan'
import type { ReceiptSink } from './receipt-sink.ts'

/** Counts the receipts of a callback and retires the tokens it reports as gone. Idempotent. */
export async function applyReceipts(
  deps: { db: Database; receipts: ReceiptSink },
  { stored }: ReadCertificate,
  reported: Receipt[],
  arrivedAt: number,
): Promise<void> {
  const { application: appId, channel } = stored
  const receipts = reported.filter(
    ({ event, taskId, token }) =>
      // No device has a token with U+0000, and Postgres refuses it in a parameter.
      event !== 'dropped' && taskId > 0 && !token.includes('\0'),
  )
  if (receipts.length === 0) return
  const devices = await devicesOfTokens(deps.db, appId, channel, [
    ...new Set(receipts.map(({ token }) => token)),
  ])
  const ofDevices = receipts.flatMap((receipt) =>
    (devices.get(receipt.token) ?? []).map((deviceId) => ({ ...receipt, deviceId })),
  )
  const records = ofDevices.flatMap(({ taskId, deviceId, event }): ReceiptToRecord[] =>
    event === 'received' || event === 'clicked' ? [{ appId, taskId, deviceId, channel, event }] : [],
  )
  if (records.length > 0) await deps.receipts(records)

  const reportedGone = ofDevices.filter(({ event }) => event === 'gone')
  if (reportedGone.length === 0) return
  // Otherwise the key of the address would suffice to retire any token.
  const recipients = await findRecipients(deps.db.pool, appId, channel, reportedGone)
  const gone = reportedGone
    .filter(({ taskId, deviceId }) => recipients.has(`${taskId}/${deviceId}`))
    .map(({ token, taskId }) => ({ token, since: Math.min(timeOfTaskId(taskId), arrivedAt) }))
  await retireReported(deps.db, { id: stored.id, appId, channel }, gone)
}
