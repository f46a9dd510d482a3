import { type Runner, run } from './statement.ts'

/**
 * Columns travel as one text each, which costs a fraction of array literals or of rows. No text we store contains it: names and
 * tokens with control characters are refused at the door.
 */
export const separator = '\u001f'

/**
 * Many rows as one text a column, NULL as the empty text. A driver makes an object of every field of every row; at a thousand
 * rows a statement that costs more than the rows are worth. `from` keeps its order.
 */
export async function runColumns<const Names extends readonly string[]>(
  runner: Runner,
  name: string,
  columns: Names,
  from: string,
  values: unknown[],
): Promise<{ [K in keyof Names]: string[] }> {
  const places = columns.map((_, i) => `c${i}`)
  const [texts] = await run<(string | null)[]>(
    runner,
    name,
    `SELECT ${places.map((place) => `string_agg(coalesce(${place}::text, ''), E'\\x1f')`).join(', ')}
     FROM (SELECT ${columns.map((column, i) => `${column} AS ${places[i]}`).join(', ')} ${from}) AS r`,
    values,
  )
  const lists = texts!.map((text) => (text === null ? [] : text.split(separator)))
  if (lists.some((list) => list.length !== lists[0]!.length))
    throw new Error(`a text of ${name} contains the separator of columns`)
  return lists as { [K in keyof Names]: string[] }
}

/** A column of rows as a parameter; who has no value leaves it empty. */
export function joined<T>(rows: T[], field: (row: T) => string | number | undefined): string {
  let text = ''
  for (let i = 0; i < rows.length; i++) {
    if (i > 0) text += separator
    const value = field(rows[i]!)
    if (value !== undefined) text += value
  }
  return text
}

/** Parameter `n`, made by `joined`, as an array: what is empty is NULL. */
export function column(n: number): string {
  return `string_to_array($${n}, E'\\x1f', '')`
}
