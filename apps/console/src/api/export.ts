import { stream } from './call.ts'

export type Export = {
  file: Blob
  /** The last line has the sums. Without it the stream was cut off, and devices are missing. */
  isComplete: boolean
}

type Options = { signal: AbortSignal; onBytes(bytes: number): void }

/** Parts of this size are given to the browser, which may keep them on disk. */
const PART_BYTES = 8 * 1024 * 1024
/** The line of the sums is shorter. */
const END_BYTES = 64 * 1024

/** Reads the export of a task. A link cannot do it: the browser would not send the header that identifies the console. */
export async function readExport(appId: string, taskId: number, options: Options): Promise<Export> {
  const body = await stream(`/push/task/export?task_id=${taskId}`, { appId, signal: options.signal })
  const parts: Blob[] = []
  let chunks: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  let total = 0
  const store = () => {
    parts.push(new Blob(chunks))
    chunks = []
    size = 0
  }
  let isWhole = true
  const reader = body.getReader()
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      chunks.push(next.value)
      size += next.value.length
      total += next.value.length
      options.onBytes(total)
      if (size >= PART_BYTES) store()
    }
  } catch (error) {
    if (options.signal.aborted) throw error
    // What has arrived is of use, if it is marked as a part.
    isWhole = false
  }
  store()
  const file = new Blob(parts, { type: 'application/x-ndjson' })
  return { file, isComplete: isWhole && hasSums(await file.slice(-END_BYTES).text()) }
}

/** Whether the last line is complete and has the sums. */
export function hasSums(end: string): boolean {
  if (!end.endsWith('\n')) return false
  const last = end.trimEnd().split('\n').at(-1) ?? ''
  try {
    return Object.hasOwn(JSON.parse(last), 'sums')
  } catch {
    return false
  }
}
