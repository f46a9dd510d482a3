import type { Database } from '../store/database.ts'
import { daysOf, inDays, runWithin } from '../store/days.ts'

/** The application of a task; undefined if the task does not exist. For the operator, who may read every application. */
export async function applicationOfTask(db: Database, taskId: number): Promise<string | undefined> {
  const [row] = await runWithin<[string]>(
    db.pool,
    daysOf([taskId]),
    'application-of-task',
    `SELECT t.app_id FROM task t WHERE t.id = $1 AND ${inDays('t.id')}`,
    [taskId],
  )
  return row?.[0]
}
