import type { Ledger } from '../simulator.ts'

/** The messages that the simulated vendor accepted, by task and token. Specs and drills compare Herald's counters with it. */
export type AcceptedLedger = {
  record(taskId: string | number | undefined, token: string): void
  read(taskId?: string | number): Ledger
  tokens(taskId?: string | number): string[]
  /** Whether a message of this task to this token was accepted. */
  has(taskId: string | undefined, token: string): boolean
  byTask(): Record<string, TaskLedger>
  /** Runs the synchronous rules of one request and returns what they accepted. */
  collect<Result>(rules: () => Result): { result: Result; accepted: readonly Acceptance[] }
  /** Records that the client may not have received the reply to these messages. */
  markUnheard(accepted: readonly Acceptance[]): void
  clear(): void
}

/**
 * `unheard`: the tokens of `tokens` with an accepted message whose reply was or may have been lost. `firstAt`, `lastAt`: Unix ms of the first and of the
 * last accepted message.
 */
export type TaskLedger = {
  accepted: number
  tokens: string[]
  unheard: string[]
  firstAt: number
  lastAt: number
}

/** One accepted message. */
export type Acceptance = { entry: TaskEntry; token: string }

type TaskEntry = Omit<TaskLedger, 'tokens' | 'unheard'> & { tokens: Set<string>; unheard: Set<string> }

/** The key of messages without a task id, which other clients than Herald send. */
const withoutTask = ''

export function openLedger(): AcceptedLedger {
  const tasks = new Map<string, TaskEntry>()
  let collected: Acceptance[] = []
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
        entry = { accepted: 0, tokens: new Set(), unheard: new Set(), firstAt: now, lastAt: now }
        tasks.set(key, entry)
      }
      collected.push({ entry, token })
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
      Object.fromEntries(
        [...tasks].map(([task, entry]) => [
          task,
          { ...entry, tokens: [...entry.tokens], unheard: [...entry.unheard] },
        ]),
      ),
    collect(rules) {
      collected = []
      const result = rules()
      const accepted = collected
      collected = []
      return { result, accepted }
    },
    markUnheard(accepted) {
      for (const { entry, token } of accepted) entry.unheard.add(token)
    },
    clear: () => tasks.clear(),
  }
}
