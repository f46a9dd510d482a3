import type { Runner } from './statement.ts'

/**
 * Empties the inboxes of devices whose owner is gone. A copy never written to a connection was still pending, so it is
 * counted expired; one that was written is sent and stays so. Counters come last and sorted, like in every settle.
 */
export async function clearInboxesOf(runner: Runner, deviceIds: readonly number[]): Promise<void> {
  await runner.query(
    `WITH held AS MATERIALIZED (
       SELECT task_id, device_id FROM inbox WHERE device_id = ANY($1::bigint[]) ORDER BY task_id, device_id FOR UPDATE
     ), gone AS (
       DELETE FROM inbox i USING held WHERE i.task_id = held.task_id AND i.device_id = held.device_id
       RETURNING i.task_id, i.sent_at
     )
     INSERT INTO counter AS c (task_id, channel, expired)
     SELECT task_id, 'native', count(*) FROM gone WHERE sent_at IS NULL GROUP BY task_id ORDER BY task_id
     ON CONFLICT (task_id, channel) DO UPDATE SET expired = c.expired + excluded.expired`,
    [deviceIds],
  )
}
