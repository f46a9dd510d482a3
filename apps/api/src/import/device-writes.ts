import { type Coalescer, coalesce } from '@herald/async'
import {
  type DeviceChange,
  type DeviceResult,
  type DeviceWriter,
  openDeviceWriter,
  type PushTokens,
} from '@herald/db/devices'
import { type Database, isDataError } from '@herald/db/store'

/** Writes devices of all applications; results have push tokens. */
export type DeviceWrites = {
  /** Calls of an application that arrive while another is being written share the next commit. */
  put(appId: string, change: DeviceChange): Promise<DeviceResult>
  batch(appId: string, changes: readonly DeviceChange[]): Promise<DeviceResult[]>
}

/** Small enough that a single call does not wait long for those of others. */
const MAX_GROUP = 250

/** `error`: Postgres refused the data of this call. */
type PutResult = DeviceResult | { error: unknown }
type Writing = { writer: DeviceWriter; puts: Coalescer<DeviceChange, PutResult>; calls: number }

export function createDeviceWrites(deps: { db: Database; pushTokens: PushTokens }): DeviceWrites {
  // Each application has its own commits: one whose devices are locked does not delay the others. Kept while calls are in progress.
  const writings = new Map<string, Writing>()

  function open(appId: string): Writing {
    const writer = openDeviceWriter(deps.db, deps.pushTokens, appId, { showTokens: true })
    const puts = coalesce<DeviceChange, PutResult>({
      maxItems: MAX_GROUP,
      write: (changes) => writeApart(writer, changes),
    })
    return { writer, puts, calls: 0 }
  }

  async function using<T>(appId: string, work: (writing: Writing) => Promise<T>): Promise<T> {
    const writing = writings.get(appId) ?? open(appId)
    writings.set(appId, writing)
    writing.calls++
    try {
      return await work(writing)
    } finally {
      writing.calls--
      if (writing.calls === 0) writings.delete(appId)
    }
  }

  return {
    put: (appId, change) =>
      using(appId, async ({ puts }) => {
        const result = await puts.add(change)
        if ('error' in result) throw result.error
        return result
      }),
    batch: (appId, changes) => using(appId, ({ writer }) => writer.write(changes)),
  }
}

/** Halves a group that Postgres refuses, so that one call's data cannot fail the calls of others. */
async function writeApart(writer: DeviceWriter, changes: DeviceChange[]): Promise<PutResult[]> {
  try {
    return await writer.write(changes)
  } catch (error) {
    if (!isDataError(error)) throw error
    if (changes.length === 1) return [{ error }]
    const middle = changes.length >> 1
    const first = await writeApart(writer, changes.slice(0, middle))
    return [...first, ...(await writeApart(writer, changes.slice(middle)))]
  }
}
