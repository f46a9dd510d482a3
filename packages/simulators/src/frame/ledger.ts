import type { Ledger } from '../simulator.ts'

/** The messages that the simulated vendor accepted, by task and token. Specs and drills compare Herald's counters with it. */
export type AcceptedLedger = {
  record(taskId: string | number | undefined, token: string): void
  read(taskId?: string | number): Ledger
  tokens(taskId?: string | number): string[]
  /** Whether a message of this task to this token was accepted. */
  has(taskId: string | undefined, token: string): boolean
  byTask(): Record<string, TaskLedger>
  /** Messages recorded so far. The number accepted during a call is the difference. */
  count(): number
  clear(): void
}

/** `firstAt`, `lastAt`: Unix ms of the first and of the last accepted message. */
export type TaskLedger = { accepted: number; tokens: string[]; firstAt: number; lastAt: number }

type TaskEntry = Omit<TaskLedger, 'tokens'> & { tokens: Set<string> }

/** The key of messages without a task id, which other clients than Herald send. */
const withoutTask = ''

export function openLedger(): AcceptedLedger {
  const tasks = new Map<string, TaskEntry>()
  let count = 0
  const entriesOf = (taskId?: string | number): TaskEntry[] => {
    if (taskId === undefined) return [...tasks.values()]
    const entry = tasks.get(String(taskId))
    return entry ? [entry] : []
  }
  return {
    record(taskId, token) {
      const key = taskId === undefined ? withoutTask : String(taskId)
      const now = Date.now()
      let entry = tasks.get(key)
      if (!entry) {
        entry = { accepted: 0, tokens: new Set(), firstAt: now, lastAt: now }
        tasks.set(key, entry)
      }
      count++
      entry.lastAt = now
      entry.accepted++
      entry.tokens.add(token)
    },
    read(taskId) {
      let accepted = 0
      let distinct = 0
      for (const entry of entriesOf(taskId)) {
        accepted += entry.accepted
        distinct += entry.tokens.size
      }
      return { accepted, distinct, duplicates: accepted - distinct }
    },
    has: (taskId, token) => tasks.get(taskId ?? withoutTask)?.tokens.has(token) ?? false,
    tokens: (taskId) => entriesOf(taskId).flatMap((entry) => [...entry.tokens]),
    byTask: () =>
      Object.fromEntries([...tasks].map(([task, entry]) => [task, { ...entry, tokens: [...entry.tokens] }])),
    count: () => count,
    clear: () => tasks.clear(),
  }
}
