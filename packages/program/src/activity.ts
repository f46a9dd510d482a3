/** Tells the parts of one process that a caller has changed something, so that they need not ask Postgres often. */
export type Activity = {
  note(): void
  /** Returns a function that removes the listener. */
  onNote(listener: () => void): () => void
}

export function createActivity(): Activity {
  const listeners = new Set<() => void>()
  return {
    note() {
      for (const listener of listeners) listener()
    },
    onNote(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
