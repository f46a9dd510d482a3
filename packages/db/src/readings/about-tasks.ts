/** A statement with its values. */
type Statement = { text: string; values: unknown[] }

/**
 * A statement about all tasks, or about those whose ids are given. `isWanted` makes a condition on the id of a task. These are two texts: one
 * with a parameter that may be null would be planned for few rows (generic plans), and with 100,000 tasks such a plan took a minute.
 */
export function aboutTasks(
  sql: (isWanted: (taskId: string) => string) => string,
): (taskIds?: readonly number[]) => Statement {
  const all = sql(() => 'true')
  const some = sql((taskId) => `${taskId} = ANY($1::bigint[])`)
  return (taskIds) => (taskIds ? { text: some, values: [taskIds] } : { text: all, values: [] })
}
