/** An int64: a number if a double can represent it exactly, otherwise a bigint. */
export type Int64 = number | bigint

type Parse = (
  text: string,
  reviver: (key: string, value: unknown, context?: { source?: string }) => unknown,
) => unknown

const INTEGER = /^-?\d+$/

/** Writes JSON with bigints as decimal strings, which the API accepts for every int64. */
export function toExactJson(value: unknown): string {
  return JSON.stringify(value, (_key, field) => (typeof field === 'bigint' ? String(field) : field))
}

/** Parses integers beyond 2^53 as bigint. Runtimes without the reviver's context round them. */
export function fromExactJson(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text)
  return (JSON.parse as Parse)(text, (_key, value, context) =>
    typeof value === 'number' &&
    !Number.isSafeInteger(value) &&
    context?.source !== undefined &&
    INTEGER.test(context.source)
      ? BigInt(context.source)
      : value,
  )
}
