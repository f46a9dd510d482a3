import { Agent } from 'undici'

/** One POST to a receipt address, in the vendor's own form. */
export type ReceiptPost = { headers: Record<string, string>; body: string }

export type ReceiptPoster<Item> = {
  /** Queues one receipt for an address; it leaves within `delayMs`, together with the others for that address. */
  push(url: string, item: Item): void
  /** Resolves when everything pushed so far has been posted, or has failed: simulators do not repeat receipts. */
  drained(): Promise<void>
  close(): Promise<void>
}

/** Posts receipts the way vendors do: grouped by address, a little after the answer, never repeated. */
export function openReceiptPoster<Item>(options: {
  /** Turns the waiting items of one address into one or more posts. */
  write(items: Item[], url: string): ReceiptPost[]
  /** Most items handed to one `write`. */
  most?: number
  delayMs?: number
}): ReceiptPoster<Item> {
  const { write, most = 1000, delayMs = 50 } = options
  const agent = new Agent({ connections: 8, keepAliveTimeout: 10_000 })
  const waiting = new Map<string, Item[]>()
  const underWay = new Set<Promise<void>>()
  let timer: NodeJS.Timeout | undefined
  let closed = false

  const post = async (url: string, { headers, body }: ReceiptPost) => {
    try {
      const target = new URL(url)
      const reply = await agent.request({
        origin: target.origin,
        path: target.pathname + target.search,
        method: 'POST',
        headers,
        body,
        headersTimeout: 5000,
        bodyTimeout: 5000,
      })
      await reply.body.dump()
    } catch {
      // A receipt that does not arrive is lost, as it is with the vendors.
    }
  }
  const flushUrl = (url: string) => {
    const items = waiting.get(url)
    if (!items) return
    waiting.delete(url)
    for (const one of write(items, url)) {
      const sent = post(url, one).finally(() => underWay.delete(sent))
      underWay.add(sent)
    }
  }
  const flush = () => {
    timer = undefined
    for (const url of [...waiting.keys()]) flushUrl(url)
  }
  return {
    push(url, item) {
      if (closed) return
      const items = waiting.get(url)
      if (items) items.push(item)
      else waiting.set(url, [item])
      if ((items?.length ?? 1) >= most) flushUrl(url)
      timer ??= setTimeout(flush, delayMs)
    },
    async drained() {
      if (timer) {
        clearTimeout(timer)
        flush()
      }
      while (underWay.size > 0) await Promise.all(underWay)
    },
    async close() {
      closed = true
      clearTimeout(timer)
      waiting.clear()
      await agent.destroy()
    },
  }
}
