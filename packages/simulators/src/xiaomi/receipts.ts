import type { ReceiptPost } from '../frame/receipts.ts'

export type XiaomiReceipt = {
  messageId: string
  type: number
  token: string
  param?: string
  jobkey?: string
  at: number
}

/** The subscribed bits; 0 if the sum contains an unknown one: then Xiaomi sends no receipts. */
export function subscribedTypes(sum: string | undefined): number {
  const known = 1 + 2 + 16 + 32 + 64 + 128 + 1024
  const wanted = sum === undefined ? 3 : Number(sum)
  return Number.isInteger(wanted) && wanted > 0 && (wanted & ~known) === 0 ? wanted : 0
}

/**
 * Forms with a field `data`, keyed by message id. A post contains an id once, so a second event of the same message
 * goes into the next post.
 */
export function writeReceipts(items: readonly XiaomiReceipt[]): ReceiptPost[] {
  const events = new Map<string, { first: XiaomiReceipt; targets: string[] }>()
  for (const item of items) {
    const key = `${item.messageId} ${item.type}`
    const event = events.get(key)
    if (event) event.targets.push(item.token)
    else events.set(key, { first: item, targets: [item.token] })
  }
  const posts: Record<string, unknown>[] = []
  for (const { first, targets } of events.values()) {
    let post = posts.find((candidate) => !Object.hasOwn(candidate, first.messageId))
    if (!post) {
      post = {}
      posts.push(post)
    }
    post[first.messageId] = {
      param: first.param,
      type: first.type,
      targets: targets.join(','),
      jobkey: first.jobkey,
      barStatus: first.type === 1 ? 'Enable' : undefined,
      timestamp: first.at,
    }
  }
  return posts.map((post) => ({
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: `data=${encodeURIComponent(JSON.stringify(post))}`,
  }))
}
