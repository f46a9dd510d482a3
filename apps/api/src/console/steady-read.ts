const SHARE = 20

/**
 * A read that many may repeat without end: what was read is handed out again for a second, or for twenty times as long as
 * the reading took. So however much there is to read, looking at it takes a twentieth of one connection's time and no more.
 */
export function createSteadyRead<Value>(
  read: (key: string) => Promise<Value>,
  { leastMs = 1000, now = () => performance.now() } = {},
): (key: string) => Promise<Value> {
  const entries = new Map<string, { value: Promise<Value>; until: number }>()
  return (key) => {
    const began = now()
    const entry = entries.get(key)
    if (entry && entry.until > began) return entry.value
    const fresh = { value: read(key), until: Number.POSITIVE_INFINITY }
    for (const [old, { until }] of entries) if (until <= began) entries.delete(old)
    entries.set(key, fresh)
    fresh.value.then(
      () => {
        const ended = now()
        fresh.until = ended + Math.max(leastMs, SHARE * (ended - began))
      },
      () => {
        if (entries.get(key) === fresh) entries.delete(key)
      },
    )
    return fresh.value
  }
}
