export const MAX_VALUES = 500

/** Splits a pasted list: a column of a sheet, the result of a query, a line with separators. */
export function splitValues(text: string): string[] {
  return text
    .split(/[\n\r\t;,；，]+/)
    .map((value) => value.trim())
    .filter((value) => value !== '')
}

/** The values once each, in their order. */
export const distinct = (values: readonly string[]): string[] => [...new Set(values)]

/** Splits what was typed. `known` values stay whole: those of the list, and a suggestion, may contain a comma. */
export function splitTyped(values: readonly string[], known: readonly (string | undefined)[]): string[] {
  return distinct(values.flatMap((value) => (known.includes(value) ? [value] : splitValues(value))))
}

export type Pasted =
  | { list: string[] }
  /** `given`: distinct values of the paste; `total`: together with those that were there. */
  | { refused: { given: number; total: number } }

/** Adds all values or none: a part of a list would reach a part of the people. */
export function addPasted(list: readonly string[], text: string): Pasted {
  const given = distinct(splitValues(text))
  const all = distinct([...list, ...given])
  return all.length > MAX_VALUES ? { refused: { given: given.length, total: all.length } } : { list: all }
}
