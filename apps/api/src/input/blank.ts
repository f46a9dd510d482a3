/** Returns whether a value is absent, null, "", only white space, [] or {}; such a value selects the default. */
export function isBlank(value: unknown): boolean {
  if (value === undefined || value === null) return true
  if (typeof value === 'string') return value.trim() === ''
  if (Array.isArray(value)) return value.length === 0
  if (typeof value !== 'object') return false
  for (const _key in value) return false
  return true
}

export function dropBlank(value: unknown): unknown {
  return isBlank(value) ? undefined : value
}

/** For fields where an absent value means "as it is": only the other blank ones select the default. */
export function blankToNull(value: unknown): unknown {
  return value !== undefined && isBlank(value) ? null : value
}

/** Returns whether all fields of an object are undefined. */
export function isEmpty(value: object | undefined): boolean {
  return value === undefined || Object.values(value).every((field) => field === undefined)
}
