import { trimInboxes } from '@herald/db/ledger'
import { sendFromInbox, type Waiting, waitingInbox } from '@herald/db/native'
import type { Database } from '@herald/db/store'
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
  ackSeconds: number
  /** So many were counted as sent. */
  onSent(count: number): void
}

/** Messages of one transaction: their frames are written while the rows are locked. */
const AT_ONCE = 1000

/**
 * Store and forward. A message that was never counted as written is written and counted in one commit; if it stands on the
 * present connection already, because the commit failed or another settled its batch, it is counted only. One that was written
 * to an earlier connection and not acknowledged is written again and counts no more.
 */
export function createInboxDrain(deps: DrainDeps): InboxDrain {
  const { db, tasks } = deps

  async function send(messages: Waiting[]): Promise<void> {
    const known = await tasks.of(messages.map(({ taskId }) => taskId))
    const write = ({ deviceId, taskId }: Waiting) => {
      const frame = known.get(taskId)?.frame
      return frame !== undefined && deps.mayWrite() && deps.write(deviceId, taskId, frame)
    }
    // One walk over all of them keeps each device's messages in order.
    const writeAll = (locked: Waiting[]) => {
      const ours = new Set(locked.map(nameOf))
      return messages.filter(
        (message) => (message.sent || ours.has(nameOf(message))) && write(message) && !message.sent,
      )
    }
    const fresh = messages.filter(({ sent }) => !sent)
    if (fresh.length === 0) writeAll([])
    else deps.onSent(await sendFromInbox(db, fresh, deps.ackSeconds || null, writeAll))
  }

  return {
    async drain(deviceIds) {
      if (deviceIds.length === 0 || !deps.mayWrite()) return
      let found = await waitingInbox(db, deviceIds)
      if (found.full.length > 0) {
        await trimInboxes(db, found.full)
        found = await waitingInbox(db, deviceIds)
      }
      const due = found.waiting.filter(
        ({ deviceId, taskId, sent }) => !sent || !deps.wasWritten(deviceId, taskId),
      )
      for (let at = 0; at < due.length; at += AT_ONCE) await send(due.slice(at, at + AT_ONCE))
    },
  }
}

const nameOf = ({ deviceId, taskId }: Waiting) => `${deviceId} ${taskId}`
