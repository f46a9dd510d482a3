import type { ReceiptPost } from '../frame/receipts.ts'

export type ReceiptItem = { msgId: string; target: string; param: string; accessToken: string }

/** One form per access token. Its `cb` has one entry per message with the key `msgId-type`; type 1 is delivered. */
export function writeReceipts(items: readonly ReceiptItem[]): ReceiptPost[] {
  return [...Map.groupBy(items, (item) => item.accessToken)].map(([accessToken, same]) => {
    const cb: Record<string, object> = {}
    for (const [msgId, those] of Map.groupBy(same, (item) => item.msgId))
      cb[`${msgId}-1`] = { param: those[0]!.param, type: 1, targets: those.map((item) => item.target) }
    const form = new URLSearchParams({ access_token: accessToken, cb: JSON.stringify(cb) })
    return { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: form.toString() }
  })
}
