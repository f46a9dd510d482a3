const fields = {
  byGuid: 'device_guid',
  byAlias: 'alias',
  byTag: 'tag',
  byUser: 'user_id',
  byToken: 'token',
} as const

export type SearchKind = keyof typeof fields
export const searchKinds = Object.keys(fields) as SearchKind[]
/** Those that select a device or a person. */
export const personKinds = ['byGuid', 'byAlias', 'byUser'] as const satisfies SearchKind[]

/** Reads a search from the URL. Without a value `fields` is empty. */
export function parseSearch<Kind extends SearchKind>(
  kinds: readonly Kind[],
  by: string | null,
  value: string | null,
): { by: Kind; value: string; fields: { [Name in (typeof fields)[Kind]]?: string } } {
  const kind = kinds.find((known) => known === by) ?? kinds[0]!
  const text = value?.trim() ?? ''
  return {
    by: kind,
    value: text,
    fields: (text === '' ? {} : { [fields[kind]]: text }) as { [Name in (typeof fields)[Kind]]?: string },
  }
}
