/** Items that wait, one queue per key, taken in turn over the keys. */
export type FairQueue<Item> = {
  /**
   * Adds an item and returns the one that is refused, if any: the item itself when its key has too many, or when all have too
   * many and no other key has more; otherwise the newest item of the key with the most.
   */
  add(key: string, item: Item): Item | undefined
  /** Removes up to `max` items: one of each key, then the next of each. */
  take(max: number): Item[]
  size(): number
}

export function createFairQueue<Item>(limits: { perKey: number; all: number }): FairQueue<Item> {
  // In the order of the next turns: a key that had its turn is inserted again, at the end.
  const queues = new Map<string, Item[]>()
  let size = 0

  function longest(): Item[] {
    let found: Item[] = []
    for (const queue of queues.values()) if (queue.length > found.length) found = queue
    return found
  }

  return {
    add(key, item) {
      const own = queues.get(key)
      const length = own?.length ?? 0
      if (length >= limits.perKey) return item
      let refused: Item | undefined
      if (size >= limits.all) {
        const most = longest()
        if (most.length <= length + 1) return item
        refused = most.pop()
        size--
      }
      if (own) own.push(item)
      else queues.set(key, [item])
      size++
      return refused
    },
    take(max) {
      if (queues.size === 1) {
        // Most often only one key has items. Turns would cost more than what is done with an item.
        const [key, queue] = queues.entries().next().value!
        const taken = queue.splice(0, max)
        size -= taken.length
        if (queue.length === 0) queues.delete(key)
        return taken
      }
      const taken: Item[] = []
      while (taken.length < max && size > 0) {
        const [key, queue] = queues.entries().next().value!
        queues.delete(key)
        taken.push(queue.shift()!)
        size--
        if (queue.length > 0) queues.set(key, queue)
      }
      return taken
    },
    size: () => size,
  }
}
