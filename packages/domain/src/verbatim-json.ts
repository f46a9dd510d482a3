/** `JSON.rawJSON` and the reviver's context (Node 22+), which the TypeScript library does not describe yet. */
type ExactJson = {
  rawJSON(text: string): unknown
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown
}
const json = JSON as unknown as ExactJson

/**
 * Parses JSON so that `JSON.stringify` writes every number with the digits it came with. A double would turn
 * 9007199254740993 into 9007199254740992.
 */
export function parseVerbatim(text: string): unknown {
  return json.parse(text, (_key, value, context) =>
    typeof value === 'number' && context.source !== undefined ? json.rawJSON(context.source) : value,
  )
}
