import { getPriority, setPriority } from 'node:os'

const BEFORE_OTHERS = -10

/**
 * Lets these processes run before all others while `work` runs: callers and vendors are on other machines in production, so that
 * Herald cannot take their CPU time. Needs root; without it their delays are part of what is measured.
 */
export async function withPriority<T>(pids: readonly number[], work: () => Promise<T>): Promise<T> {
  const before = pids.map((pid) => getPriority(pid))
  const set = (priorities: readonly number[]) => {
    try {
      for (const [i, pid] of pids.entries()) setPriority(pid, priorities[i]!)
    } catch {
      // Not root.
    }
  }
  set(pids.map(() => BEFORE_OTHERS))
  try {
    return await work()
  } finally {
    set(before)
  }
}
