import { inDays } from '../store/days.ts'

/**
 * Tells that tasks have ended. `from` has their rows as `t` (id, app_id, campaign, events, unreachable, cancelling); tasks without events are
 * left out. The detail has the counters as task records show them: a device that moved is a target of two channels and counts once.
 */
export function addTaskEventsSql(from: string, condition = 'true'): string {
  return `INSERT INTO outbox (app_id, kind, task_id, campaign, detail)
  SELECT t.app_id, CASE WHEN t.cancelling THEN 'task.cancelled' ELSE 'task.finished' END, t.id, t.campaign,
    jsonb_build_object('target', c.target - c.moved, 'sent', c.sent, 'received', c.received, 'clicked', c.clicked, 'failed', c.failed,
      'expired', c.expired, 'cancelled', c.cancelled, 'unreachable', t.unreachable,
      'waiting', c.target - c.sent - c.failed - c.moved - c.expired - c.cancelled)
  FROM ${from} CROSS JOIN LATERAL (
    SELECT ${['target', 'sent', 'received', 'clicked', 'failed', 'moved', 'expired', 'cancelled']
      .map((counter) => `coalesce(sum(${counter}), 0)::bigint AS ${counter}`)
      .join(', ')}
    FROM counter WHERE task_id = t.id AND ${inDays('task_id')}
  ) c
  WHERE t.events > 0 AND (${condition}) ORDER BY t.id`
}

/**
 * Those of the tasks in `tasks` (task_id) that have device events, looked up once each. Statements about many devices use it as a step and
 * pass only their results to `addEventsSql`: for tasks without events, nearly all, that is one look-up per task instead of one per device.
 */
export function tellingTasksSql(tasks: string): string {
  return `SELECT id FROM task WHERE id = ANY (ARRAY(SELECT DISTINCT task_id FROM ${tasks})) AND ${inDays('id')} AND events = 2`
}

/** The condition that the row is of a task in the step `telling` (`tellingTasksSql`). */
export const isTold = 'task_id IN (SELECT id FROM telling)'
