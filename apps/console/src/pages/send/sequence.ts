/** Moves the item at `index` by one place; at the end of the list it stays. */
export function move<Item>(list: readonly Item[], index: number, by: -1 | 1): Item[] {
  const to = index + by
  if (index < 0 || index >= list.length || to < 0 || to >= list.length) return [...list]
  const next = [...list]
  next.splice(to, 0, ...next.splice(index, 1))
  return next
}
