/** Tells the parts of one process that something was changed, so that they need not ask Postgres often. */
export type Activity = {
  /** No other process writes into the database, so what nobody notes has not happened. */
  readonly isAlone: boolean
  note(): void
  /** Milliseconds since the last note, or since the start. */
  quietMs(): number
  /** Returns a function that removes the listener. */
  onNote(listener: () => void): () => void
}

export function createActivity({ isAlone }: { isAlone: boolean }): Activity {
  const listeners = new Set<() => void>()
  let notedAt = performance.now()
  return {
    isAlone,
    note() {
      notedAt = performance.now()
      for (const listener of listeners) listener()
    },
    quietMs: () => performance.now() - notedAt,
    onNote(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
