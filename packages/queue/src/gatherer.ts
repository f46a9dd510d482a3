import { QueueUnavailable, reasonOf } from './errors.ts'

export type Gatherer<T> = {
  /** Resolves when the item is stored; rejects with QueueUnavailable within the limit, whatever the store does. */
  add(item: T): Promise<void>
}

type Group<T> = PromiseWithResolvers<void> & { items: T[]; timer: NodeJS.Timeout }

/**
 * Turns single adds into bulk stores. One store is under way at a time and what arrives meanwhile forms the next
 * group, so a lone add waits for nothing and a burst pays one round trip for hundreds.
 * A store that outlives the limit is given up, not awaited: a hung server costs callers the limit and no more.
 */
export function createGatherer<T>(options: {
  label: string
  limitMs: number
  groupSize: number
  /** Groups that may wait behind the one being stored; beyond it adds are refused at once. */
  groupsWaiting: number
  store: (items: T[]) => Promise<unknown>
}): Gatherer<T> {
  const { label, limitMs, groupSize, groupsWaiting, store } = options
  const waiting: Group<T>[] = []
  let storing = false

  function openGroup(): Group<T> {
    const group: Group<T> = {
      ...Promise.withResolvers<void>(),
      items: [],
      timer: setTimeout(() => {
        const at = waiting.indexOf(group)
        if (at >= 0) waiting.splice(at, 1)
        group.reject(new QueueUnavailable(`${label} did not answer within ${limitMs} ms`))
      }, limitMs),
    }
    waiting.push(group)
    return group
  }

  async function storeNext(): Promise<void> {
    if (storing) return
    const group = waiting.shift()
    if (!group) return
    storing = true
    try {
      await Promise.race([store(group.items), group.promise])
      group.resolve()
    } catch (error) {
      group.reject(
        error instanceof QueueUnavailable
          ? error
          : new QueueUnavailable(`${label} cannot be written to: ${reasonOf(error)}`, { cause: error }),
      )
    } finally {
      clearTimeout(group.timer)
      storing = false
      if (waiting.length > 0) setImmediate(storeNext)
    }
  }

  return {
    add(item) {
      let group = waiting.at(-1)
      if (!group || group.items.length >= groupSize) {
        if (waiting.length >= groupsWaiting) {
          return Promise.reject(
            new QueueUnavailable(`${label} is behind: ${waiting.length * groupSize} jobs wait to be stored`),
          )
        }
        group = openGroup()
        if (!storing && waiting.length === 1) setImmediate(storeNext)
      }
      group.items.push(item)
      return group.promise
    },
  }
}
