import { trimInboxes } from '@herald/db/ledger'
import { sendFromInbox, type WaitingMessage, waitingInbox } from '@herald/db/native'
import type { Database } from '@herald/db/store'
import type { TaskCache } from './task-cache.ts'
import type { Unrecorded } from './unrecorded.ts'

export type InboxDrain = {
  /**
   * Writes the waiting messages of these devices to their connections, oldest first. Returns the devices that had any: a message
   * that another process had locked is still there. Messages of tasks that cannot be read stay in the inbox and do not count.
   */
  drain(deviceIds: readonly number[]): Promise<number[]>
}

export type DrainDeps = {
  db: Database
  tasks: TaskCache
  mayWrite(): boolean
  /** Writes a frame to the connection of a device; false when there is none that can take it. */
  write(deviceId: number, taskId: number, frame: Buffer): boolean
  /** Whether the message was written to the current connection. */
  wasWritten(deviceId: number, taskId: number): boolean
  unrecorded: Unrecorded
  ackSeconds: number
  /** `count` messages of an application were counted as sent. */
  onSent(appId: string, count: number): void
}

/** Messages per transaction: their frames are written while the rows are locked. */
const MAX_MESSAGES = 1000

/**
 * Forwards stored messages. A message that is not counted as sent is written and counted in one commit; if it was already
 * written to the current connection, because the commit failed or the planner settled its batch, it is only counted. A message
 * that was written to an earlier connection and not acknowledged is written again and not counted again. One whose
 * acknowledgement is being recorded is left alone.
 */
export function createInboxDrain(deps: DrainDeps): InboxDrain {
  const { db, tasks, unrecorded } = deps

  /** Returns the messages that can be sent. */
  async function send(waiting: WaitingMessage[]): Promise<WaitingMessage[]> {
    const known = await tasks.of(waiting.map(({ taskId }) => taskId))
    const messages = waiting.filter(({ taskId }) => known.has(taskId))
    const write = ({ deviceId, taskId }: WaitingMessage) => {
      if (!deps.mayWrite() || unrecorded.has(deviceId, taskId)) return false
      return deps.write(deviceId, taskId, known.get(taskId)!.frame)
    }
    // One pass over all messages keeps those of each device in order.
    const writeAll = (locked: WaitingMessage[]) => {
      const lockedNames = new Set(locked.map(nameOf))
      return messages.filter(
        (message) => (message.sent || lockedNames.has(nameOf(message))) && write(message) && !message.sent,
      )
    }
    const fresh = messages.filter(({ sent }) => !sent)
    if (fresh.length === 0) writeAll([])
    else {
      let sent: WaitingMessage[] = []
      await sendFromInbox(db, fresh, deps.ackSeconds || null, (locked) => {
        sent = writeAll(locked)
        return sent
      })
      const byApplication = Map.groupBy(sent, ({ taskId }) => known.get(taskId)!.task.appId)
      for (const [appId, { length }] of byApplication) deps.onSent(appId, length)
    }
    return messages
  }

  async function drain(deviceIds: readonly number[]): Promise<number[]> {
    let found = await waitingInbox(db, deviceIds)
    if (found.full.length > 0) {
      await trimInboxes(db, found.full)
      found = await waitingInbox(db, deviceIds)
    }
    const due = found.waiting.filter(
      ({ deviceId, taskId, sent }) =>
        !unrecorded.has(deviceId, taskId) && (!sent || !deps.wasWritten(deviceId, taskId)),
    )
    const devices = new Set<number>()
    for (let at = 0; at < due.length; at += MAX_MESSAGES)
      for (const { deviceId } of await send(due.slice(at, at + MAX_MESSAGES))) devices.add(deviceId)
    return [...devices]
  }

  return {
    async drain(deviceIds) {
      if (deviceIds.length === 0 || !deps.mayWrite()) return []
      return unrecorded.keptDuring(() => drain(deviceIds))
    },
  }
}

const nameOf = ({ deviceId, taskId }: WaitingMessage) => `${deviceId} ${taskId}`
