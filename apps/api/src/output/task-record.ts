import type { TaskView } from '@herald/db/tasks'
import { shownTaskStates } from '@herald/domain'
import { z } from 'zod'
import { int64Out, nullableTimestamp, seconds, secondsOrNull, timestamp } from './fields.ts'

export const taskRecord = z.object({
  task_id: int64Out,
  state: z.enum(shownTaskStates),
  title: z.string().nullable(),
  request_id: z.string().nullable(),
  group_id: int64Out.nullable(),
  campaign: z.string().nullable(),
  actor: z
    .string()
    .nullable()
    .describe('Who sent it, as in the audit; null for tasks of a version of Herald that did not record it.'),
  priority: z.enum(['high', 'normal']),
  speed: z.int().nullable(),
  created_at: timestamp,
  begin_at: timestamp,
  finished_at: nullableTimestamp,
  target: z.int(),
  sent: z.int(),
  received: z.int(),
  clicked: z.int().describe('Devices on which the notification was opened.'),
  failed: z.int(),
  expired: z.int(),
  cancelled: z.int(),
  unreachable: z.int().describe('Devices of the audience that no channel could reach.'),
  pending: z.int().describe('Targets without a final result.'),
  waiting: z
    .int()
    .describe('Messages of a finished task that wait in the inboxes of devices that are offline.'),
  progress: z.number().describe('Share of the targets that are no longer pending, 0 to 1.'),
  rate: z.number().describe('Devices per second since the start of the task.'),
  eta: z
    .number()
    .nullable()
    .describe('Estimated seconds until nothing is pending; null if unknown, and while the task is paused.'),
})

export function showTask(task: TaskView): z.input<typeof taskRecord> {
  return {
    task_id: task.taskId,
    state: task.state,
    title: task.title,
    request_id: task.requestId,
    group_id: task.groupId,
    campaign: task.campaign,
    actor: task.actor,
    priority: task.lane,
    speed: task.speed,
    created_at: seconds(task.createdAt),
    begin_at: seconds(task.beginAt),
    finished_at: secondsOrNull(task.finishedAt),
    target: task.target,
    sent: task.sent,
    received: task.received,
    clicked: task.clicked,
    failed: task.failed,
    expired: task.expired,
    cancelled: task.cancelled,
    unreachable: task.unreachable,
    pending: task.pending,
    waiting: task.waiting,
    progress: progressOf(task),
    rate: tenths(task.rate),
    eta: task.eta === null ? null : tenths(task.eta),
  }
}

function progressOf({ target, pending, finishedAt }: TaskView): number {
  if (target === 0) return finishedAt ? 1 : 0
  return Math.round((1 - pending / target) * 10_000) / 10_000
}

const tenths = (value: number) => Math.round(value * 10) / 10
