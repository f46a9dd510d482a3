/** For vendors whose tokens are opaque: refuses only what cannot be a token. */
export function checkOpaqueToken(token: string): string | undefined {
  if (token.trim() === '') return 'device_token is blank'
  if (/\s/.test(token)) return 'device_token contains white space'
  if (token.length > 512) return 'device_token is longer than 512 characters'
  return undefined
}

/** Reads the task id from a receipt: 0 when there is none, undefined when the value is not one of our ids (below 2^53). */
export function readTaskId(param: unknown): number | undefined {
  if (param === undefined || param === null || param === '') return 0
  if (typeof param !== 'string' && typeof param !== 'number') return undefined
  const text = String(param).trim()
  if (!/^[1-9]\d{0,15}$/.test(text)) return undefined
  const taskId = Number(text)
  return Number.isSafeInteger(taskId) ? taskId : undefined
}
