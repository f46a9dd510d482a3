/**
 * The task id that a vendor's receipt echoes: 0 when it carries none, undefined when what it carries is not ours. Task ids are
 * below 2^53.
 */
export function readTaskId(param: unknown): number | undefined {
  if (param === undefined || param === null || param === '') return 0
  if (typeof param !== 'string' && typeof param !== 'number') return undefined
  const text = String(param).trim()
  if (!/^[1-9]\d{0,15}$/.test(text)) return undefined
  const taskId = Number(text)
  return Number.isSafeInteger(taskId) ? taskId : undefined
}
