import { UnreadableTask } from '@herald/db/native'
import { type Database, retrying } from '@herald/db/store'
import { type PlannedTask, tasksById } from '@herald/db/tasks'
import { pushFrame } from './frames.ts'

export type KnownTask = { task: PlannedTask; frame: Buffer }
/** Tasks that cannot be read are left out. */
export type TaskCache = { of(taskIds: Iterable<number>): Promise<Map<number, KnownTask>> }

const MAX_BYTES = 32 * 1024 * 1024
/** Approximate size of an entry without its frame. */
const ENTRY_BYTES = 2048

/** Caches the frames of recent tasks, encoded once for all devices. Needs no expiry: messages do not change. */
export function createTaskCache(
  db: Database,
  onUnreadable: (error: UnreadableTask) => void = () => {},
): TaskCache {
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

  /** Those that cannot be read are read again every time, so that a row that was repaired is sent. */
  async function read(taskIds: number[]): Promise<KnownTask[]> {
    const tasks = await retrying(() => tasksById(db.pool, taskIds, onUnreadable))
    return tasks.flatMap((task) => {
      try {
        return known.get(task.taskId) ?? remember(task)
      } catch (error) {
        onUnreadable(new UnreadableTask(task.taskId, error))
        return []
      }
    })
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
      if (missing.length > 0) for (const entry of await read(missing)) found.set(entry.task.taskId, entry)
      return found
    },
  }
}
