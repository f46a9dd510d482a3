import type { DeviceChange, PutDeviceResult } from '@herald/client'
import { parseVerbatim } from '@herald/domain'
import type { TextLine } from './text-lines.ts'

/** What POST /admin/device/batch accepts at most. */
const MAX_DEVICES = 1000
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
  let batch: { line: TextLine; device: DeviceChange }[] = []
  let length = 0
  async function send(): Promise<void> {
    if (batch.length === 0) return
    const results = await put(batch.map(({ device }) => device))
    for (const [index, { line }] of batch.entries()) {
      const result = results[index]!
      counts.lines++
      if ('code' in result) refuse(line, result.message)
      else if (result.created) counts.created++
      else counts.updated++
    }
    on.sent(batch.at(-1)!.line)
    batch = []
    length = 0
  }
  function refuse(line: TextLine, reason: string): void {
    counts.failed++
    on.refused({ line, reason })
  }

  for await (const line of lines) {
    if (line.text.trim() === '') continue
    const device = parseDevice(line.text)
    if (device === undefined) {
      counts.lines++
      refuse(line, 'It is not a JSON object.')
      continue
    }
    if (batch.length >= MAX_DEVICES || length + line.text.length > MAX_LENGTH) await send()
    batch.push({ line, device })
    length += line.text.length
  }
  await send()
}

/** Numbers keep their digits. */
function parseDevice(text: string): DeviceChange | undefined {
  try {
    const value = parseVerbatim(text)
    return /^\s*\{/.test(text) ? (value as DeviceChange) : undefined
  } catch {
    return undefined
  }
}
