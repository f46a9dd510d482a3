import type { DeviceChange, PutDeviceResult } from '@herald/client'
import { parseVerbatim } from '@herald/domain'
import type { TextLine } from './text-lines.ts'

/** What POST /admin/device/batch and /push/notify/batch accept at most. */
const MAX_ENTRIES = 1000
/** Characters of a batch; a body must stay below 4 MiB, also if each takes three bytes. */
const MAX_LENGTH = 1024 * 1024

export type RefusedLine = { line: TextLine; reason: string }
export type BatchCounts = { lines: number; created: number; updated: number; failed: number }

/** Sends lines in batches, one after the other, so that of two lines of a device the later wins. `counts` is current also when this throws. */
export async function sendBatches(
  lines: AsyncIterable<TextLine>,
  put: (devices: DeviceChange[]) => Promise<PutDeviceResult[]>,
  counts: BatchCounts,
  on: { refused(refused: RefusedLine): void; sent(last: TextLine): void },
): Promise<void> {
  function refuse(refused: RefusedLine): void {
    counts.lines++
    counts.failed++
    on.refused(refused)
  }
  await sendLines(lines, put, {
    refused: refuse,
    result(line, result) {
      if ('code' in result) return refuse({ line, reason: result.message })
      counts.lines++
      if (result.created) counts.created++
      else counts.updated++
    },
    sent: on.sent,
  })
}

/** Sends lines that are JSON objects in lists, one list after the other. `put` returns one result per entry. */
export async function sendLines<Entry, Result>(
  lines: AsyncIterable<TextLine>,
  put: (entries: Entry[]) => Promise<Result[]>,
  on: {
    refused(refused: RefusedLine): void
    result(line: TextLine, result: Result): void
    sent(last: TextLine): void
  },
): Promise<void> {
  let batch: { line: TextLine; entry: Entry }[] = []
  let length = 0
  async function send(): Promise<void> {
    if (batch.length === 0) return
    const results = await put(batch.map(({ entry }) => entry))
    for (const [index, { line }] of batch.entries()) on.result(line, results[index]!)
    on.sent(batch.at(-1)!.line)
    batch = []
    length = 0
  }

  for await (const line of lines) {
    if (line.invalid) {
      on.refused({ line, reason: 'It is not valid UTF-8.' })
      continue
    }
    if (line.text.trim() === '') continue
    const entry = parseObject<Entry>(line.text)
    if (entry === undefined) {
      on.refused({ line, reason: 'It is not a JSON object.' })
      continue
    }
    if (batch.length >= MAX_ENTRIES || length + line.text.length > MAX_LENGTH) await send()
    batch.push({ line, entry })
    length += line.text.length
  }
  await send()
}

/** Numbers keep their digits. */
function parseObject<Entry>(text: string): Entry | undefined {
  try {
    const value = parseVerbatim(text)
    return /^\s*\{/.test(text) ? (value as Entry) : undefined
  } catch {
    return undefined
  }
}
