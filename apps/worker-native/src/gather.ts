export type Gatherer<T> = {
  add(item: T): void
  /** Hands over what waits and resolves when nothing is left. */
  flushed(): Promise<void>
}

/**
 * Collects items and hands them over together: `ms` after the first, or as soon as `most` wait. One hand-over at a time, so
 * that a slow one makes the next larger instead of piling up. `take` may not throw.
 */
export function createGatherer<T>(options: {
  ms: number
  most: number
  take(items: T[]): Promise<void>
}): Gatherer<T> {
  const { ms, most, take } = options
  let waiting: T[] = []
  let timer: NodeJS.Timeout | undefined
  let working: Promise<void> | undefined

  async function work(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    while (waiting.length > 0) {
      const items = waiting.length > most ? waiting.splice(0, most) : waiting
      if (items === waiting) waiting = []
      await take(items)
      // What came meanwhile waits its own time for company, unless it is enough already.
      if (waiting.length < most) break
    }
    working = undefined
    if (waiting.length > 0) schedule()
  }

  function schedule(): void {
    timer ??= setTimeout(start, ms)
  }

  function start(): Promise<void> {
    if (!working && waiting.length > 0) working = work()
    return working ?? Promise.resolve()
  }

  return {
    add(item) {
      waiting.push(item)
      if (working) return
      if (waiting.length >= most) void start()
      else schedule()
    },
    async flushed() {
      while (working || waiting.length > 0) await start()
    },
  }
}
