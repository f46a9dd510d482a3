import type { Database } from '../store/database.ts'
import { retrying, retryingStatement } from '../store/errors.ts'
import { inTransaction, type Runner, run } from '../store/statement.ts'
import type { FoundDevice } from './push-tokens.ts'

/** `activity`: the token of one activity, by the id that the application gave it. `start`: the token that starts activities of a type. */
export type ActivityName = { kind: 'activity' | 'start'; name: string }

export type NewActivity = ActivityName & FoundDevice & { appId: string; token: string }

/** A device has a few activities at a time; the limit bounds what an app with a defect can store. */
export const activitiesPerDevice = 64

/**
 * Binds a token of a Live Activity to the device. A token that is bound under another name or to another device moves. The place of the
 * newest update stays: an older one must not be sent to the new token either. If the device has too many, the oldest are deleted.
 * Returns false if the device was removed or has another push token.
 */
export async function bindActivity(db: Database, activity: NewActivity): Promise<boolean> {
  const { appId, deviceId, tokenGeneration, kind, name, token } = activity
  return retrying(() =>
    inTransaction(db, async (runner) => {
      // Two calls of a device take turns, so that both see how many it has.
      const { rowCount } = await runner.query(
        'SELECT 1 FROM device WHERE id = $1 AND app_id = $2 AND token_generation = $3 FOR NO KEY UPDATE',
        [deviceId, appId, tokenGeneration],
      )
      if (rowCount === 0) return false
      await runner.query(
        'DELETE FROM activity WHERE token = $2 AND app_id = $1 AND (device_id, kind, name) <> ($3, $4, $5)',
        [appId, token, deviceId, kind, name],
      )
      await runner.query(
        `INSERT INTO activity (device_id, kind, name, app_id, token) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (device_id, kind, name) DO UPDATE SET token = excluded.token, bound_at = now()`,
        [deviceId, kind, name, appId, token],
      )
      await runner.query(
        `DELETE FROM activity WHERE (device_id, kind, name) IN (
           SELECT device_id, kind, name FROM activity WHERE device_id = $1 AND (kind, name) <> ($2, $3)
           ORDER BY bound_at DESC, name OFFSET ${activitiesPerDevice - 1})`,
        [deviceId, kind, name],
      )
      return true
    }),
  )
}

/** Returns whether there was one; undefined if the device was removed or has another push token. */
export async function unbindActivity(
  db: Database,
  { appId, deviceId, tokenGeneration, kind, name }: Omit<NewActivity, 'token'>,
): Promise<boolean | undefined> {
  const { rows } = await retryingStatement(() =>
    db.pool.query<{ removed: boolean }>(
      `WITH found AS MATERIALIZED (
         SELECT id FROM device WHERE id = $1 AND app_id = $2 AND token_generation = $3 FOR NO KEY UPDATE
       ), removed AS (
         DELETE FROM activity a USING found WHERE a.device_id = found.id AND a.kind = $4 AND a.name = $5 RETURNING 1
       )
       SELECT EXISTS (SELECT 1 FROM removed) AS removed FROM found`,
      [deviceId, appId, tokenGeneration, kind, name],
    ),
  )
  return rows[0]?.removed
}

/** For devices that get another person. Tokens to start activities belong to the installation, as the token of the device does. */
export async function clearActivitiesOf(runner: Runner, deviceIds: number[]): Promise<void> {
  await runner.query("DELETE FROM activity WHERE device_id = ANY($1) AND kind = 'activity'", [deviceIds])
}

/** Whether the device has a token under one of these names. */
export async function hasActivity(
  runner: Runner,
  deviceId: number,
  { kind, names }: { kind: ActivityName['kind']; names: readonly string[] },
): Promise<boolean> {
  const { rowCount } = await runner.query(
    'SELECT 1 FROM activity WHERE device_id = $1 AND kind = $2 AND name = ANY($3) LIMIT 1',
    [deviceId, kind, names],
  )
  return rowCount === 1
}

/** An update of the activities `names` of a device by a task; `at` (Unix ms) is its place in the order, `stamp` (Unix seconds) what the device compares. */
export type ActivityUpdate = {
  taskId: number
  deviceIds: readonly number[]
  kind: ActivityName['kind']
  names: readonly string[]
  at: number
}

/** `superseded`: a newer update of the same activity was sent or is being sent. */
export type ActivityTarget = { token: string; stamp: number } | 'superseded'

/**
 * Returns the tokens for updates that are about to be sent, by task and device (`activityKey`), and records each update as the newest of its
 * activity. An update that comes before the recorded one is superseded. The stamps of an activity rise with every update, also within a second:
 * the device ignores an update with a smaller stamp than the last, so one that was delayed on its way cannot replace a newer one. An
 * attempt that is repeated gets the stamp of the first. Two statements, and one new version per activity.
 */
export async function takeActivities(
  runner: Runner,
  updates: readonly ActivityUpdate[],
): Promise<Map<string, ActivityTarget[]>> {
  const rows = updates.flatMap((update) =>
    update.deviceIds.flatMap((deviceId) => update.names.map((name) => ({ ...update, deviceId, name }))),
  )
  const values = [
    rows.map((row) => row.deviceId),
    rows.map((row) => row.name),
    rows.map((row) => row.taskId),
    rows.map((row) => Math.floor(row.at)),
    rows.map((row) => row.kind),
  ]
  // Of several updates in one job only the newest is recorded. Sorted, because statements that lock rows in different orders deadlock.
  await run(
    runner,
    'take-activities',
    `WITH given AS MATERIALIZED (
       SELECT DISTINCT ON (device_id, name) device_id, name, task_id, at FROM ${givenSql}
       WHERE kind = 'activity' ORDER BY device_id, name, at DESC, task_id DESC
     ), locked AS MATERIALIZED (
       SELECT a.device_id, a.name FROM activity a JOIN given g ON g.device_id = a.device_id AND g.name = a.name
       WHERE a.kind = 'activity' ORDER BY 1, 2 FOR UPDATE OF a
     )
     UPDATE activity a SET newest_at = g.at, task_id = g.task_id, stamp = greatest(g.at / 1000, a.stamp + 1)
     FROM locked l JOIN given g ON g.device_id = l.device_id AND g.name = l.name
     WHERE a.device_id = l.device_id AND a.kind = 'activity' AND a.name = l.name
       AND (a.newest_at IS NULL OR (g.at, g.task_id) > (a.newest_at, a.task_id))`,
    values,
  )
  const found = await run<
    [taskId: number, deviceId: number, token: string, stamp: number, isNewest: boolean]
  >(
    runner,
    'read-activities',
    `SELECT g.task_id, a.device_id, a.token, CASE WHEN a.kind = 'start' THEN g.at / 1000 ELSE a.stamp END,
       a.kind = 'start' OR a.task_id = g.task_id
     FROM ${givenSql} JOIN activity a ON a.device_id = g.device_id AND a.kind = g.kind AND a.name = g.name
     ORDER BY 1, 2, a.name`,
    values,
  )
  const targets = new Map<string, ActivityTarget[]>()
  for (const [taskId, deviceId, token, stamp, isNewest] of found) {
    const key = activityKey(taskId, deviceId)
    const target: ActivityTarget = isNewest ? { token, stamp } : 'superseded'
    targets.set(key, [...(targets.get(key) ?? []), target])
  }
  return targets
}

const givenSql =
  'unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[]) AS g (device_id, name, task_id, at, kind)'

export function activityKey(taskId: number, deviceId: number): string {
  return `${taskId}/${deviceId}`
}

/** Deletes tokens that the vendor called dead or whose activity has ended, unless bound again after `since` (Unix ms). */
export async function endActivities(
  db: Database,
  ended: readonly { deviceId: number; token: string; since: number }[],
): Promise<void> {
  await retrying(() =>
    db.pool.query(
      `DELETE FROM activity a USING unnest($1::bigint[], $2::text[], $3::float8[]) AS e (device_id, token, since)
       WHERE a.device_id = e.device_id AND a.token = e.token AND a.bound_at <= to_timestamp(e.since / 1000)`,
      [ended.map((one) => one.deviceId), ended.map((one) => one.token), ended.map((one) => one.since)],
    ),
  )
}
