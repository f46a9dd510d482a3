type Shared = { value: { close(): Promise<void> }; users: number }

const shared = new Map<string, Shared>()

/**
 * Returns the one value for `key` that all transports of this process use, and opens it for the first. Its `close` ends this use;
 * the last one closes the value.
 */
export function share<Value extends { close(): Promise<void> }>(
  key: readonly (string | number | undefined)[],
  open: () => Value,
): Value {
  const name = JSON.stringify(key)
  const entry = shared.get(name) ?? { value: open(), users: 0 }
  entry.users++
  shared.set(name, entry)
  let isClosed = false
  return {
    ...(entry.value as Value),
    async close() {
      if (isClosed) return
      isClosed = true
      entry.users--
      if (entry.users > 0) return
      shared.delete(name)
      await entry.value.close()
    },
  }
}
