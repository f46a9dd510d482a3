import { type Database, retrying } from '@herald/db/store'
import { type PlannedTask, tasksById } from '@herald/db/tasks'
import { pushFrame } from './frames.ts'

export type KnownTask = { task: PlannedTask; frame: Buffer }
export type TaskCache = { of(taskIds: Iterable<number>): Promise<Map<number, KnownTask>> }

const MAX_BYTES = 32 * 1024 * 1024
/** Approximate size of an entry without its frame. */
const ENTRY_BYTES = 2048

/** Caches the frames of recent tasks, encoded once for all devices. Needs no expiry: messages do not change. */
export function createTaskCache(db: Database): TaskCache {
  const known = new Map<number, KnownTask>()
  let bytes = 0

  function remember(task: PlannedTask): KnownTask {
    const entry = { task, frame: Buffer.from(pushFrame(task.taskId, task.message)) }
    known.set(task.taskId, entry)
    bytes += entry.frame.length + ENTRY_BYTES
    for (const [oldest, { frame }] of known) {
      if (bytes <= MAX_BYTES) break
      known.delete(oldest)
      bytes -= frame.length + ENTRY_BYTES
    }
    return entry
  }

  return {
    async of(taskIds) {
      const found = new Map<number, KnownTask>()
      const missing: number[] = []
      for (const id of new Set(taskIds)) {
        const entry = known.get(id)
        if (entry) found.set(id, entry)
        else missing.push(id)
      }
      if (missing.length > 0)
        for (const task of await retrying(() => tasksById(db.pool, missing)))
          found.set(task.taskId, known.get(task.taskId) ?? remember(task))
      return found
    },
  }
}
