import { Agent } from 'undici'

/** One POST to a receipt address, in the vendor's own form. */
export type ReceiptPost = { headers: Record<string, string>; body: string }

export type ReceiptPoster<Item> = {
  /** Queues one receipt for an address. It is posted within `delayMs`, together with the others for that address. */
  push(url: string, item: Item): void
  /** Resolves when all receipts so far were posted or failed. */
  drained(): Promise<void>
  close(): Promise<void>
}

/** Posts receipts as vendors do: grouped by address, shortly after the reply, never repeated. */
export function openReceiptPoster<Item>(options: {
  /** Writes the queued items of one address as one or more posts. */
  write(items: Item[], url: string): ReceiptPost[]
  /** Maximum number of items per `write`. */
  max?: number
  delayMs?: number
}): ReceiptPoster<Item> {
  const { write, max = 1000, delayMs = 50 } = options
  const agent = new Agent({ connections: 8, keepAliveTimeout: 10_000 })
  const queued = new Map<string, Item[]>()
  const inFlight = new Set<Promise<void>>()
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
      // A receipt that does not arrive is lost, as with the vendors.
    }
  }
  const flushUrl = (url: string) => {
    const items = queued.get(url)
    if (!items) return
    queued.delete(url)
    for (const one of write(items, url)) {
      const sent = post(url, one).finally(() => inFlight.delete(sent))
      inFlight.add(sent)
    }
  }
  const flush = () => {
    timer = undefined
    for (const url of [...queued.keys()]) flushUrl(url)
  }
  return {
    push(url, item) {
      if (closed) return
      const items = queued.get(url)
      if (items) items.push(item)
      else queued.set(url, [item])
      if ((items?.length ?? 1) >= max) flushUrl(url)
      timer ??= setTimeout(flush, delayMs)
    },
    async drained() {
      if (timer) {
        clearTimeout(timer)
        flush()
      }
      while (inFlight.size > 0) await Promise.all(inFlight)
    },
    async close() {
      closed = true
      clearTimeout(timer)
      queued.clear()
      await agent.destroy()
    },
  }
}
