/**
 * Runs `work` for every item, at most `width` at a time, in the order of `items`. The first error is thrown once the calls in
 * progress have ended; no further item is started after it.
 */
export async function eachConcurrently<Item>(
  items: Iterable<Item>,
  width: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = items[Symbol.iterator]()
  let failed = false
  const worker = async () => {
    while (!failed) {
      const { done, value } = queue.next()
      if (done) return
      try {
        await work(value)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  // Most lists are shorter than `width`; a worker without an item costs as much as some of the items do.
  const workers = Array.isArray(items) ? Math.min(width, items.length) : width
  const ended = await Promise.allSettled(Array.from({ length: workers }, worker))
  for (const result of ended) if (result.status === 'rejected') throw result.reason
}
