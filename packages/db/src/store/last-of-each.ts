/** Of rows with the same key, the last. */
export function lastOfEach<T>(rows: T[], keyOf: (row: T) => string): T[] {
  const last = new Map<string, T>()
  for (const row of rows) last.set(keyOf(row), row)
  return last.size === rows.length ? rows : [...last.values()]
}
