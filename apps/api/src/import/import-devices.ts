import { type DeviceChange, type DeviceWriter, openDeviceWriter } from '@herald/db/devices'
import { Failure } from '../codes.ts'
import type { RouteContext } from '../route.ts'
import { createLineSplitter, type SplitLine } from './line-splitter.ts'
import { BadDevice, readImportLine } from './read-device.ts'
import { refusalOf } from './refusal.ts'

export const MAX_ERRORS = 100
/** Lines per commit, and their length in characters: with long lines the count alone would allow gigabytes in memory. */
const MAX_BATCH = 2000
const MAX_BATCH_LENGTH = 2 * 1024 * 1024
/** Concurrent commits: while Postgres works on one, another waits for its fsync and a third is being read. */
const WRITERS = 3

export type ImportReport = {
  lines: number
  created: number
  updated: number
  /** Lines that changed nothing. */
  unchanged: number
  failed: number
  errors: { line: number; error: string }[]
}

/** Imports a stream of NDJSON. `report` is up to date also when this throws. */
export async function importDevices(
  { deps, appId }: RouteContext,
  body: AsyncIterable<Uint8Array>,
  report: ImportReport,
): Promise<void> {
  const into = openDeviceWriter(deps.db, deps.pushTokens, appId, { expectNew: true })
  const writers = Array.from({ length: WRITERS }, () => openWriter(into, report))
  const splitter = createLineSplitter()

  async function take(lines: SplitLine[]): Promise<void> {
    for (const line of lines) {
      if ('text' in line && line.text.trim() === '') continue
      report.lines++
      if ('problem' in line) {
        reportError(report, line.no, line.problem)
        continue
      }
      const device = read(line)
      if (!device) continue
      // A device always goes to the same writer, so that the later of its lines wins.
      const full = writers[writerOf(device.guid)]!.add(line.no, device, line.text.length)
      if (full) await full
    }
  }

  function read(line: { no: number; text: string }): DeviceChange | undefined {
    try {
      return readImportLine(line.text, deps.adapters)
    } catch (error) {
      if (!(error instanceof BadDevice)) throw error
      reportError(report, line.no, error.message)
      return undefined
    }
  }

  try {
    for await (const chunk of whole(body)) await take(splitter.push(chunk))
    await take(splitter.end())
  } finally {
    // Also when the caller hung up: no write may outlive the request.
    await Promise.allSettled(writers.map((writer) => writer.idle()))
  }
  await Promise.all(writers.map((writer) => writer.flush()))
}

/** A caller that hangs up is not an internal error, nor a lost connection to the database. */
async function* whole(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch {
    throw new Failure(40001, 'The body ended before it was complete.')
  }
}

function writerOf(guid: string): number {
  let hash = 0
  for (let i = 0; i < guid.length; i++) hash = (Math.imul(hash, 31) + guid.charCodeAt(i)) | 0
  return (hash >>> 0) % WRITERS
}

/** Collects a batch while the one before is written, and waits for Postgres when lines arrive faster. */
function openWriter(into: DeviceWriter, report: ImportReport) {
  let numbers: number[] = []
  let devices: DeviceChange[] = []
  let size = 0
  let writing: Promise<void> = Promise.resolve()

  async function write(batch: DeviceChange[], lines: number[]): Promise<void> {
    const results = await into.write(batch)
    results.forEach((result, index) => {
      if ('outcome' in result) report[result.outcome]++
      else reportError(report, lines[index]!, refusalOf(result, batch[index]!).message)
    })
  }

  async function start(): Promise<void> {
    await writing
    if (devices.length === 0) return
    writing = write(devices, numbers)
    // Awaited by the next call; without a listener until then, a rejection would end the process.
    writing.catch(() => {})
    numbers = []
    devices = []
    size = 0
  }

  return {
    /** Returns a promise only when the batch is full: one per line would cost more than reading the line. */
    add(no: number, device: DeviceChange, length: number): Promise<void> | undefined {
      numbers.push(no)
      devices.push(device)
      size += length
      return devices.length >= MAX_BATCH || size >= MAX_BATCH_LENGTH ? start() : undefined
    },
    idle: () => writing,
    async flush(): Promise<void> {
      await start()
      await writing
    },
  }
}

function reportError(report: ImportReport, line: number, error: string): void {
  report.failed++
  if (report.errors.length < MAX_ERRORS) report.errors.push({ line, error: `Line ${line}: ${error}.` })
}
