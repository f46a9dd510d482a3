import { type Database, sendFromInbox, trimInboxes, type Waiting, waitingInbox } from '@herald/db'
import type { TaskBook } from './task-book.ts'

export type InboxDrain = {
  /** Writes what waits for these devices to their connections, oldest first. */
  drain(deviceIds: readonly number[]): Promise<void>
}

export type DrainDeps = {
  db: Database
  tasks: TaskBook
  mayWrite(): boolean
  /** Hands a frame to the connection of a device; false when there is none that can take it. */
  write(deviceId: number, taskId: number, frame: Buffer): boolean
  /** Written to the present connection already. */
  wasWritten(deviceId: number, taskId: number): boolean
  /** Takes back that it was. */
  forget(deviceId: number, taskId: number): void
  ackSeconds: number
  /** So many were counted as sent. */
  onSent(count: number): void
}

/** Messages of one transaction: their frames are written while the rows are locked. */
const AT_ONCE = 1000

/**
 * Store and forward. A message that was never written is written and counted in one commit; one that was written to an
 * earlier connection and not acknowledged is written again and counts no more.
 */
export function createInboxDrain(deps: DrainDeps): InboxDrain {
  const { db, tasks } = deps

  async function send(messages: Waiting[]): Promise<void> {
    const known = await tasks.of(messages.map(({ taskId }) => taskId))
    const write = ({ deviceId, taskId }: Waiting) => {
      const frame = known.get(taskId)?.frame
      return frame !== undefined && deps.mayWrite() && deps.write(deviceId, taskId, frame)
    }
    let counted: Waiting[] = []
    // One walk over all of them keeps each device's messages in order.
    const writeAll = (locked: Waiting[]) => {
      const ours = new Set(locked.map(({ deviceId, taskId }) => `${deviceId} ${taskId}`))
      counted = messages.filter((message) => {
        const fresh = !message.sent
        if (fresh && !ours.has(`${message.deviceId} ${message.taskId}`)) return false
        return write(message) && fresh
      })
      return counted
    }
    const fresh = messages.filter(({ sent }) => !sent)
    if (fresh.length === 0) {
      writeAll([])
      return
    }
    try {
      await sendFromInbox(db, fresh, deps.ackSeconds || null, writeAll)
      deps.onSent(counted.length)
    } catch (error) {
      // Nothing was counted, so they are written once more; devices know a message that comes twice.
      for (const { deviceId, taskId } of counted) deps.forget(deviceId, taskId)
      throw error
    }
  }

  return {
    async drain(deviceIds) {
      if (deviceIds.length === 0 || !deps.mayWrite()) return
      let found = await waitingInbox(db, deviceIds)
      if (found.full.length > 0) {
        await trimInboxes(db, found.full)
        found = await waitingInbox(db, deviceIds)
      }
      const due = found.waiting.filter(({ deviceId, taskId }) => !deps.wasWritten(deviceId, taskId))
      for (let at = 0; at < due.length; at += AT_ONCE) await send(due.slice(at, at + AT_ONCE))
    },
  }
}
