import { type Runner, run } from './statement.ts'

/**
 * Separates the values of a column that is sent as one text, which costs a fraction of an array or of rows. Stored texts do not
 * contain it: the API rejects names and tokens with control characters.
 */
export const separator = '\u001f'

/**
 * Reads many rows as one text per column, NULL as the empty text, in the order of `from`. The driver creates an object for every
 * field of every row, which at a thousand rows costs more than the query.
 */
export async function runColumns<const Names extends readonly string[]>(
  runner: Runner,
  name: string,
  columns: Names,
  from: string,
  values: unknown[],
): Promise<{ [K in keyof Names]: string[] }> {
  const names = columns.map((_, i) => `c${i}`)
  const [texts] = await run<(string | null)[]>(
    runner,
    name,
    `SELECT ${names.map((c) => `string_agg(coalesce(${c}::text, ''), E'\\x1f')`).join(', ')}
     FROM (SELECT ${columns.map((column, i) => `${column} AS ${names[i]}`).join(', ')} ${from}) AS r`,
    values,
  )
  const lists = texts!.map((text) => (text === null ? [] : text.split(separator)))
  if (lists.some((list) => list.length !== lists[0]!.length))
    throw new Error(`a value of ${name} contains the column separator`)
  return lists as { [K in keyof Names]: string[] }
}

/** Joins one field of all rows to a parameter for `column`; undefined becomes NULL. */
export function joined<T>(rows: T[], field: (row: T) => string | number | undefined): string {
  let text = ''
  for (let i = 0; i < rows.length; i++) {
    if (i > 0) text += separator
    const value = field(rows[i]!)
    if (value !== undefined) text += value
  }
  return text
}

/** Parameter `n`, made by `joined`, as an SQL array; empty values are NULL. */
export function column(n: number): string {
  return `string_to_array($${n}, E'\\x1f', '')`
}
