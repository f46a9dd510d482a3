import { type DeviceChange, type DeviceResult, type DeviceWriter, openDeviceWriter } from '@herald/db/devices'
import { createTextStore } from '@herald/db/store'
import { Failure } from '../codes.ts'
import type { RouteContext } from '../route.ts'
import { createLineSplitter, type SplitLine } from './line-splitter.ts'
import { BadDevice, readImportLine } from './read-device.ts'
import { refusalOf } from './refusal.ts'

export const MAX_ERRORS = 100
/** Lines per commit, and their length in characters: with long lines the count alone would allow gigabytes in memory. */
const MAX_BATCH = 1000
const MAX_BATCH_LENGTH = 1024 * 1024
/** Concurrent commits: while Postgres works on one, another waits for its fsync and a third is being read. */
const WRITERS = 3

export type ImportReport = {
  lines: number
  created: number
  updated: number
  /** Lines that changed nothing. */
  unchanged: number
  failed: number
  /** Of the first lines, in their order. */
  errors: { line: number; error: string }[]
}

/** Imports a stream of NDJSON. `report` is up to date also when this throws. */
export async function importDevices(
  { deps, appId }: RouteContext,
  body: AsyncIterable<Uint8Array>,
  report: ImportReport,
): Promise<void> {
  const into = openDeviceWriter(deps.db, deps.pushTokens, appId, { expectNew: true })
  const writes = openWrites(into, report)
  const splitter = createLineSplitter()
  let batch: Lines = { numbers: [], texts: [] }
  let size = 0

  async function take(lines: SplitLine[]): Promise<void> {
    for (const line of lines) {
      if ('text' in line && line.text.trim() === '') continue
      report.lines++
      if ('problem' in line) {
        reportError(report, line.no, line.problem)
        continue
      }
      batch.numbers.push(line.no)
      batch.texts.push(line.text)
      size += line.text.length
      if (batch.texts.length >= MAX_BATCH || size >= MAX_BATCH_LENGTH) await flush()
    }
  }

  async function flush(): Promise<void> {
    const lines = batch
    batch = { numbers: [], texts: [] }
    size = 0
    await writes.start(lines, readLines)
  }

  /** Keeps the lines that can be read; reports the others. */
  function readLines(lines: Lines): DeviceChange[] {
    const devices: DeviceChange[] = []
    const good: Lines = { numbers: [], texts: [] }
    for (let i = 0; i < lines.texts.length; i++)
      try {
        devices.push(readImportLine(lines.texts[i]!, deps.adapters))
        good.numbers.push(lines.numbers[i]!)
        good.texts.push(lines.texts[i]!)
      } catch (error) {
        if (!(error instanceof BadDevice)) throw error
        reportError(report, lines.numbers[i]!, error.message)
      }
    Object.assign(lines, good)
    return devices
  }

  try {
    for await (const chunk of whole(body)) await take(splitter.push(chunk))
    await take(splitter.end())
    await flush()
  } finally {
    // Also when the caller hung up: no write may outlive the request.
    await writes.settled()
  }
  await writes.end()
}

/** A caller that hangs up is not an internal error, nor a lost connection to the database. */
async function* whole(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch {
    throw new Failure(40001, 'The body ended before it was complete.')
  }
}

type Lines = { numbers: number[]; texts: string[] }

/**
 * Writes batches, a few at a time. What is kept of a batch that is being written are its lines, as bytes: the objects that are read
 * from the lines would be copied by each collection, which costs more than reading them again in the rare case that a device is known.
 */
function openWrites(into: DeviceWriter, report: ImportReport) {
  const inProgress = new Map<Set<number>, Promise<void>>()
  const failures: unknown[] = []
  const store = createTextStore()

  async function write(
    numbers: number[],
    readAgain: () => DeviceChange[],
    results: Promise<DeviceResult[]>,
  ): Promise<void> {
    let changes: DeviceChange[] | undefined
    for (const [index, result] of (await results).entries()) {
      if ('outcome' in result) {
        report[result.outcome]++
        continue
      }
      changes ??= readAgain()
      reportError(report, numbers[index]!, refusalOf(result, changes[index]!).message)
    }
  }

  const settled = () => Promise.all(inProgress.values())
  const end = async () => {
    await settled()
    if (failures.length > 0) throw failures[0]
  }

  return {
    /** Waits for Postgres when lines arrive faster. */
    async start(lines: Lines, read: (lines: Lines) => DeviceChange[]): Promise<void> {
      while (inProgress.size >= WRITERS) await Promise.race(inProgress.values())
      if (failures.length > 0) throw failures[0]
      const devices = read(lines)
      if (devices.length === 0) return
      const names = new Set<number>()
      for (const { guid, bindings } of devices) {
        names.add(hashOf(guid))
        if (bindings) for (const { token } of bindings) if (token !== null) names.add(hashOf(token))
      }
      // The later of the lines of a device or a vendor token wins, so its batch waits for the earlier one.
      for (const earlier of inProgress.keys())
        if (!earlier.isDisjointFrom(names)) await inProgress.get(earlier)
      if (failures.length > 0) throw failures[0]
      const { numbers } = lines
      const kept = store(lines.texts.join('\n'))
      const readAgain = () => read({ numbers, texts: kept.bytes.toString().split('\n') })
      const writing = write(numbers, readAgain, into.insert(devices, readAgain))
        .catch((error) => {
          failures.push(error)
        })
        .finally(() => {
          kept.release()
          inProgress.delete(names)
        })
      inProgress.set(names, writing)
    },
    settled,
    end,
  }
}

/**
 * A number that stands for a guid or token while its batch is written: the strings, too, would be copied by each collection. If two of them
 * have the same number, a batch waits for another without need.
 */
function hashOf(name: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
  return hash
}

/** Keeps the lowest lines: batches are written at the same time, and a batch reports lines that it cannot read first. */
function reportError(report: ImportReport, line: number, error: string): void {
  report.failed++
  const { errors } = report
  let at = errors.length
  while (at > 0 && errors[at - 1]!.line > line) at--
  if (at === MAX_ERRORS) return
  errors.splice(at, 0, { line, error: `Line ${line}: ${error}.` })
  if (errors.length > MAX_ERRORS) errors.pop()
}
