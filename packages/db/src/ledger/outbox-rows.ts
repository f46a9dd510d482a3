import { eventNames } from '@herald/domain'
import { inDays } from '../store/days.ts'

/** Events of one statement are in the order of what they tell: a device has received what was sent. */
const kindOrder = `array_position(ARRAY['${eventNames.join("','")}'], e.kind)`

/** A row of the outbox has at most this many devices. */
export const devicesPerRow = 1000

/**
 * Adds the events of single devices to the outbox. `source` selects task_id, channel, kind, code, text and device_id of the results that the
 * statement adds to the counters; tasks without device events are left out, and most are left out by `source` (`isTold`). One row per
 * task, channel, kind and code. The outbox comes after the counters: pass `after('counted')` as the condition.
 */
export function addEventsSql(source: string, condition = 'true'): string {
  return `INSERT INTO outbox (app_id, kind, task_id, campaign, channel, code, text, devices)
  SELECT t.app_id, e.kind, e.task_id, t.campaign, e.channel, e.code, e.text, e.devices
  FROM (
    SELECT task_id, channel, kind, code, part, min(text) AS text, array_agg(device_id ORDER BY device_id) AS devices
    FROM (
      SELECT s.task_id, s.channel, s.kind, s.code, s.text, s.device_id,
        (row_number() OVER (PARTITION BY s.task_id, s.channel, s.kind, s.code ORDER BY s.device_id) - 1) / ${devicesPerRow} AS part
      FROM (${source}) s
    ) d GROUP BY task_id, channel, kind, code, part
  ) e ${tellingTask('e.task_id')}
  WHERE ${condition} ORDER BY e.task_id, e.channel, ${kindOrder}, e.code, e.part`
}

/**
 * Looks the task up, once per row. As a join Postgres may read all tasks of the days instead, although nearly every statement has no event:
 * with many days its estimate of the rows makes that look cheaper.
 */
const tellingTask = (taskId: string) => `CROSS JOIN LATERAL (
    SELECT app_id, campaign FROM task WHERE id = ${taskId} AND events = 2 AND ${inDays('id')} OFFSET 0) t`

/**
 * Adds events to the outbox whose devices are lists already: `source` selects task_id, channel, kind, code, text and devices, an array, or its
 * literal, of at most `devicesPerRow` ids. Tasks without device events are left out.
 */
export function addEventListsSql(source: string, condition = 'true'): string {
  return `INSERT INTO outbox (app_id, kind, task_id, campaign, channel, code, text, devices)
  SELECT t.app_id, e.kind, e.task_id, t.campaign, e.channel, e.code, e.text, e.devices::bigint[]
  FROM (${source}) e ${tellingTask('e.task_id')}
  WHERE ${condition} ORDER BY e.task_id, e.channel, ${kindOrder}, e.code`
}

/** Adds token.retired. `source` selects app_id, channel and device_id of the bindings that were deleted. Written for every application. */
export function addRetiredSql(source: string, condition = 'true'): string {
  return `INSERT INTO outbox (app_id, kind, channel, devices)
  SELECT r.app_id, 'token.retired', r.channel, array_agg(r.device_id ORDER BY r.device_id)
  FROM (
    SELECT s.*, (row_number() OVER (PARTITION BY s.app_id, s.channel ORDER BY s.device_id) - 1) / ${devicesPerRow} AS part
    FROM (${source}) s
  ) r
  WHERE ${condition} GROUP BY r.app_id, r.channel, r.part`
}
