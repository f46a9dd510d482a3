import type { Runner } from './statement.ts'

/**
 * Empties the inboxes of devices whose owner is gone. A copy never written to a connection was still pending, so it is
 * counted expired; one that was written is sent and stays so. Counters come last and sorted, like in every settle.
 */
export async function clearInboxesOf(runner: Runner, deviceIds: number[]): Promise<void> {
  await runner.query(
    `WITH gone AS (
       DELETE FROM inbox WHERE device_id = ANY($1) RETURNING task_id, sent_at
     ), late AS (
       SELECT task_id, count(*) AS unsent FROM gone WHERE sent_at IS NULL GROUP BY task_id ORDER BY task_id
     )
     UPDATE counter c SET expired = c.expired + late.unsent FROM late
     WHERE c.task_id = late.task_id AND c.channel = 'native'`,
    [deviceIds],
  )
}
