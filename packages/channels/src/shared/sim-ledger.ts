import type { Ledger } from '../simulator.ts'

/** What the simulated vendor accepted, by task and token: the truth that counters are compared with. */
export type LedgerBook = {
  record(taskId: string | number | undefined, token: string): void
  read(taskId?: string | number): Ledger
  tokens(taskId?: string | number): string[]
  /** Everything by task, for drills that compare every device. */
  pages(): Record<string, { accepted: number; tokens: string[] }>
  /** Entries so far; what was accepted during a call is the difference. */
  entries(): number
  clear(): void
}

type Page = { accepted: number; tokens: Set<string> }

/** Requests of clients that are not ours carry no task id; they are kept under this name. */
const unnamed = ''

export function openLedger(): LedgerBook {
  const pages = new Map<string, Page>()
  let entries = 0
  const pagesOf = (taskId?: string | number): Page[] => {
    if (taskId === undefined) return [...pages.values()]
    const page = pages.get(String(taskId))
    return page ? [page] : []
  }
  return {
    record(taskId, token) {
      const key = taskId === undefined ? unnamed : String(taskId)
      let page = pages.get(key)
      if (!page) {
        page = { accepted: 0, tokens: new Set() }
        pages.set(key, page)
      }
      entries++
      page.accepted++
      page.tokens.add(token)
    },
    read(taskId) {
      let accepted = 0
      let distinct = 0
      for (const page of pagesOf(taskId)) {
        accepted += page.accepted
        distinct += page.tokens.size
      }
      return { accepted, distinct, duplicates: accepted - distinct }
    },
    tokens: (taskId) => pagesOf(taskId).flatMap((page) => [...page.tokens]),
    pages: () =>
      Object.fromEntries(
        [...pages].map(([task, { accepted, tokens }]) => [task, { accepted, tokens: [...tokens] }]),
      ),
    entries: () => entries,
    clear: () => pages.clear(),
  }
}
