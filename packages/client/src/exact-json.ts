/** An int64: a number if a double can represent it exactly, otherwise a bigint. */
export type Int64 = number | bigint

type Parse = (
  text: string,
  reviver: (key: string, value: unknown, context?: { source?: string }) => unknown,
) => unknown

const INTEGER = /^-?\d+$/

/** Writes JSON; a bigint becomes a number with all its digits. `indent` is as of JSON.stringify. */
export function toExactJson(value: unknown, indent?: number): string {
  const { rawJSON } = JSON as unknown as { rawJSON?: (text: string) => unknown }
  if (rawJSON) return stringify(value, rawJSON, indent)
  // Without rawJSON (Node before 21): strings with a mark that occurs nowhere else; mark and quotes are removed.
  const plain = stringify(value, (digits) => digits, indent)
  let mark = '#'
  while (plain.includes(mark)) mark += '#'
  const marked = stringify(value, (digits) => mark + digits, indent)
  return marked.replace(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1')
}

function stringify(value: unknown, write: (digits: string) => unknown, indent?: number): string {
  return JSON.stringify(
    value,
    (_key, field) => (typeof field === 'bigint' ? write(String(field)) : field),
    indent,
  )
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
