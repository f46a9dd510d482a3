export type Coalescer<Item, Result> = {
  /** Resolves with the item's result once its group is written; rejects with the error of its group. */
  add(item: Item): Promise<Result>
  /** Writes what waits, without waiting for the window, and resolves when nothing is left. */
  flushed(): Promise<void>
}

export type CoalesceOptions<Item, Result> = {
  /** Returns one result per item, in order; nothing if `add` needs no result. */
  write(items: Item[]): Promise<Result[]> | Promise<void>
  /** Maximum number of items per write. */
  maxItems: number
  /** How long the first item of a group waits for others (default 0: until the next turn of the event loop). */
  windowMs?: number
  /** Maximum number of groups that wait behind the one being written; further items are refused with CoalesceFull. */
  maxGroups?: number
  /** Limit from the first item of a group to its result. A write that exceeds it is no longer awaited: its items get CoalesceTimeout. */
  limitMs?: number
}

export class CoalesceFull extends Error {}
export class CoalesceTimeout extends Error {}

type Group<Item> = PromiseWithResolvers<unknown> & { items: Item[]; limit?: NodeJS.Timeout }

/**
 * Turns many single writes into few large ones. One write is in progress at a time and what arrives during it forms the next
 * group, so a single item does not wait and a burst costs one round trip for hundreds.
 */
export function coalesce<Item, Result = void>(
  options: CoalesceOptions<Item, Result>,
): Coalescer<Item, Result> {
  const { write, maxItems, windowMs = 0, maxGroups = Number.POSITIVE_INFINITY, limitMs } = options
  const groups: Group<Item>[] = []
  let writing: Promise<void> | undefined
  let cancelStart: (() => void) | undefined

  function openGroup(): Group<Item> {
    const group: Group<Item> = { ...Promise.withResolvers<unknown>(), items: [] }
    if (limitMs !== undefined)
      group.limit = setTimeout(() => {
        const at = groups.indexOf(group)
        if (at >= 0) groups.splice(at, 1)
        group.reject(new CoalesceTimeout(`no answer within ${limitMs} ms`))
      }, limitMs)
    groups.push(group)
    return group
  }

  async function writeGroup(group: Group<Item>): Promise<void> {
    try {
      group.resolve(await Promise.race([write(group.items), group.promise]))
    } catch (error) {
      group.reject(error)
    }
    clearTimeout(group.limit)
  }

  function start(): void {
    cancelStart?.()
    cancelStart = undefined
    const group = groups.shift()
    if (!group) return
    writing = writeGroup(group).then(() => {
      writing = undefined
      if (groups.length > 0) schedule()
    })
  }

  function schedule(): void {
    const isFull = groups.length > 1 || groups[0]!.items.length >= maxItems
    if (cancelStart && !(isFull && windowMs > 0)) return
    cancelStart?.()
    if (isFull || windowMs === 0) {
      const immediate = setImmediate(start)
      cancelStart = () => clearImmediate(immediate)
    } else {
      const timer = setTimeout(start, windowMs)
      cancelStart = () => clearTimeout(timer)
    }
  }

  return {
    async add(item) {
      let group = groups.at(-1)
      if (!group || group.items.length >= maxItems) {
        if (groups.length >= maxGroups)
          throw new CoalesceFull(`${groups.length * maxItems} items wait to be written`)
        group = openGroup()
      }
      const at = group.items.push(item) - 1
      if (!writing) schedule()
      const results = (await group.promise) as Result[] | undefined
      return results?.[at] as Result
    },
    async flushed() {
      while (writing || groups.length > 0) {
        if (!writing) start()
        await writing
      }
    },
  }
}
