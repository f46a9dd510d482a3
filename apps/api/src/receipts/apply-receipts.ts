import type { Receipt } from '@herald/channels'
import { retireReported } from '@herald/db/devices'
import { type Database, timeOfTaskId } from '@herald/db/store'
import { devicesOfTokens, type ReceiptToRecord } from '@herald/db/tasks'
import type { ReadCertificate } from '@herald/plan'
import type { ReceiptSink } from './receipt-sink.ts'

/** Counts what a callback reports, and retires the tokens it calls dead. Repeating it changes nothing. */
export async function applyReceipts(
  deps: { db: Database; receipts: ReceiptSink },
  { stored }: ReadCertificate,
  reported: Receipt[],
  arrivedAt: number,
): Promise<void> {
  const { application: appId, channel } = stored
  // No device has such a token, and asking Postgres for it fails.
  const receipts = reported.filter(({ token }) => !token.includes('\0'))
  const heard = receipts.filter(
    ({ event, taskId }) => (event === 'received' || event === 'clicked') && taskId > 0,
  )
  if (heard.length > 0) {
    const devices = await devicesOfTokens(deps.db, appId, channel, [
      ...new Set(heard.map(({ token }) => token)),
    ])
    const records = heard.flatMap(({ taskId, token, event }) =>
      (devices.get(token) ?? []).map(
        (deviceId): ReceiptToRecord => ({
          appId,
          taskId,
          deviceId,
          channel,
          event: event as 'received' | 'clicked',
        }),
      ),
    )
    if (records.length > 0) await deps.receipts(records)
  }
  const gone = receipts
    .filter(({ event }) => event === 'gone')
    .map(({ token, taskId }) => ({ token, since: taskId > 0 ? timeOfTaskId(taskId) : arrivedAt }))
  await retireReported(deps.db, { id: stored.id, appId, channel }, gone)
}
