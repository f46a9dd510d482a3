/**
 * Turns many single writes into few large ones: one is under way, what arrives meanwhile forms the next. A lone item waits
 * for nobody.
 */
export function gather<Item, Result>(
  write: (items: Item[]) => Promise<Result[]>,
  most: number,
): (item: Item) => Promise<Result> {
  let waiting: { item: Item; resolve(result: Result): void; reject(error: unknown): void }[] = []
  let writing = false

  async function writeNext(): Promise<void> {
    writing = true
    while (waiting.length > 0) {
      const group = waiting.slice(0, most)
      waiting = waiting.slice(most)
      try {
        const results = await write(group.map(({ item }) => item))
        group.forEach(({ resolve }, i) => {
          resolve(results[i]!)
        })
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    writing = false
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (!writing) void writeNext()
    })
}
