/**
 * Acknowledged messages whose acknowledgement is not in Postgres yet: the inbox still contains them, and without this record
 * they would be written to the device again.
 */
export type Unrecorded = {
  add(deviceId: number, taskId: number): void
  /** The acknowledgement was recorded, or given up. */
  remove(deviceId: number, taskId: number): void
  has(deviceId: number, taskId: number): boolean
  /** Keeps what is removed until `read` ends: it may have read the inbox before the acknowledgement was recorded. */
  keptDuring<T>(read: () => Promise<T>): Promise<T>
}

export function createUnrecorded(): Unrecorded {
  const counts = new Map<string, number>()
  const nameOf = (deviceId: number, taskId: number) => `${deviceId} ${taskId}`
  let reads = 0
  let removed: string[] = []

  function drop(name: string): void {
    const left = (counts.get(name) ?? 1) - 1
    if (left > 0) counts.set(name, left)
    else counts.delete(name)
  }

  return {
    add(deviceId, taskId) {
      const name = nameOf(deviceId, taskId)
      counts.set(name, (counts.get(name) ?? 0) + 1)
    },
    remove(deviceId, taskId) {
      const name = nameOf(deviceId, taskId)
      if (reads > 0) removed.push(name)
      else drop(name)
    },
    has: (deviceId, taskId) => counts.has(nameOf(deviceId, taskId)),
    async keptDuring(read) {
      reads++
      try {
        return await read()
      } finally {
        reads--
        if (reads === 0) {
          for (const name of removed) drop(name)
          removed = []
        }
      }
    },
  }
}
