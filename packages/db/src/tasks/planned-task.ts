import type { EventLevel, Lane, Message, MessageClass, SequenceWord, Strategy } from '@herald/domain'
import { daysOf, inDays, runWithin } from '../store/days.ts'
import { fields, type Runner } from '../store/statement.ts'
import { decodeAudience } from './accept.ts'
import type { AudienceScope } from './audience.ts'

/** What planning and sending need of a task. Only the lane may change after the accept. */
export type PlannedTask = AudienceScope & {
  taskId: number
  strategy: Strategy
  sequence: SequenceWord[]
  message: Message
  messageClass?: MessageClass
  lane: Lane
  speed?: number
  ttl: number
  /** When it was accepted, or its start if that is later; Unix ms by the database's clock. */
  beginAt: number
  events: EventLevel
}

export const taskColumns: Record<keyof PlannedTask, string> = {
  taskId: 't.id',
  appId: 't.app_id',
  groupId: 't.group_id',
  audience: 't.audience',
  strategy: 't.strategy',
  sequence: 't.sequence',
  message: 't.message',
  messageClass: 't.message_class',
  lane: 't.lane',
  speed: 't.speed',
  ttl: 't.ttl',
  beginAt: '(extract(epoch FROM t.begin_at) * 1000)::float8',
  events: 't.events',
}
export const taskFields = fields<PlannedTask>(taskColumns)

export function plannedTask(row: unknown[]): PlannedTask {
  const { audience, groupId, messageClass, speed, ...task } = taskFields.read(row)
  return {
    ...task,
    audience: decodeAudience(audience),
    groupId: groupId ?? undefined,
    messageClass: messageClass ?? undefined,
    speed: speed ?? undefined,
  }
}

/** The row of a task cannot be used; its message cannot be sent. */
export class UnreadableTask extends Error {
  readonly taskId: number
  constructor(taskId: number, cause: unknown) {
    super(`task ${taskId} cannot be read: ${(cause as Error)?.message}`, { cause })
    this.taskId = taskId
  }
}

const MAX_TOLD = 1000

/** Passes on the first error of each task: the same row is read again and again. */
export function oncePerTask(tell: (error: UnreadableTask) => void): (error: UnreadableTask) => void {
  const told = new Set<number>()
  return (error) => {
    if (told.has(error.taskId)) return
    if (told.size >= MAX_TOLD) told.clear()
    told.add(error.taskId)
    tell(error)
  }
}

/** Tasks that cannot be read are left out and given to `onUnreadable`; without it, the first of them is thrown. */
export async function tasksById(
  runner: Runner,
  ids: number[],
  onUnreadable?: (error: UnreadableTask) => void,
): Promise<PlannedTask[]> {
  const rows = await runWithin(
    runner,
    daysOf(ids),
    'tasks-by-id',
    `SELECT ${taskFields.sql} FROM task t WHERE t.id = ANY($1::bigint[]) AND ${inDays('t.id')}`,
    [ids],
  )
  const tasks: PlannedTask[] = []
  for (const row of rows) {
    try {
      tasks.push(plannedTask(row))
    } catch (cause) {
      const error = new UnreadableTask(taskFields.read(row).taskId, cause)
      if (!onUnreadable) throw error
      onUnreadable(error)
    }
  }
  return tasks
}

/** One task could not be planned; the caller skips it for a while. */
export class PlanningFailed extends Error {
  readonly taskId: number
  constructor(taskId: number, cause: unknown) {
    super(`task ${taskId} could not be planned: ${(cause as Error)?.message}`, { cause })
    this.taskId = taskId
  }
}
