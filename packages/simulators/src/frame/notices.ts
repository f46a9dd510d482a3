import type { AcceptedLedger } from './ledger.ts'

/** Which notifications devices have, by the vendor's id of a notification, for vendors that can take one away. */
export type Notices = {
  /** A message with this id was accepted for devices of the ledger. */
  note(id: number, taskId: string | undefined): void
  /** Takes a notification away; false if the device has none with this id. */
  withdraw(id: number, token: string): boolean
  /** The tokens from which a notification with this id was taken. */
  withdrawn(id: number): string[]
  clear(): void
}

/** Keeps one entry per message and not one per device: the ledger has the devices. */
export function openNotices(ledger: Pick<AcceptedLedger, 'has'>): Notices {
  const tasks = new Map<number, Set<string | undefined>>()
  const withdrawn = new Map<number, Set<string>>()
  return {
    note(id, taskId) {
      const same = tasks.get(id)
      if (same) same.add(taskId)
      else tasks.set(id, new Set([taskId]))
      // A later message with the same id is shown again.
      withdrawn.delete(id)
    },
    withdraw(id, token) {
      const sent = [...(tasks.get(id) ?? [])].some((taskId) => ledger.has(taskId, token))
      if (!sent) return false
      const gone = withdrawn.get(id) ?? new Set()
      withdrawn.set(id, gone.add(token))
      return true
    },
    withdrawn: (id) => [...(withdrawn.get(id) ?? [])],
    clear() {
      tasks.clear()
      withdrawn.clear()
    },
  }
}
