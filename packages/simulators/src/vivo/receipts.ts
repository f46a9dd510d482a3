import type { ReceiptPost } from '../frame/receipts.ts'

export type ReceiptItem = { taskId: string; target: string; param: string }

/** One entry per task id of vivo, with its devices as a comma-separated list. */
export function writeReceipts(items: readonly ReceiptItem[], nowMs: number): ReceiptPost[] {
  const entries: Record<string, object> = {}
  for (const [taskId, same] of Map.groupBy(items, (item) => item.taskId))
    entries[taskId] = {
      targets: same.map((item) => item.target).join(','),
      param: same[0]!.param,
      ackTime: nowMs,
      ackType: '0',
    }
  return [{ headers: { 'content-type': 'application/json' }, body: JSON.stringify(entries) }]
}
