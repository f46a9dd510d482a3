import { type DeviceImport, type ImportDevice, openDeviceImport } from '@herald/db/devices'
import { isUnreachable } from '@herald/db/store'
import { z } from 'zod'
import { Failure } from '../codes.ts'
import { type Context, route } from '../route.ts'
import { note } from './audit.ts'
import { BadLine, readImportLine } from './import-line.ts'
import { createLineSplitter, type SplitLine } from './line-splitter.ts'

const SHOWN_ERRORS = 100
/** Lines of one commit. */
const BATCH = 5000
/** Commits under way at once: Postgres works on one while another waits for its fsync and a third is being read. */
const LANES = 3

type Report = {
  lines: number
  created: number
  updated: number
  failed: number
  errors: { line: number; error: string }[]
}

export const importDeviceStream = route({
  method: 'post',
  path: '/admin/device/import',
  tag: 'Devices',
  access: 'admin',
  groupRefused: true,
  stream: true,
  summary: 'Import devices: a stream of NDJSON, one device a line',
  description: `One JSON object a line, at most 64 KiB each: device_guid, user_id?, platform (ios, android, harmony), alias?, tags?, bindings? as a list of {provider, device_token, environment?, bundle_id?}. Known devices are updated: fields that are given replace, bindings are added, others stay. Lines that are wrong are left out and reported, the first ${SHOWN_ERRORS} with their numbers; the others count. Of two lines for one device the later wins. Repeating an import changes nothing.`,
  example:
    '{"device_guid":"example-import","platform":"android","bindings":[{"provider":2,"device_token":"example-import-token"}]}',
  input: z.unknown(),
  answer: z.object({
    lines: z.int().describe('Lines that were not blank.'),
    created: z.int(),
    updated: z.int(),
    failed: z.int(),
    errors: z.array(z.object({ line: z.int(), error: z.string() })),
  }),
  async handler(context, body) {
    const report: Report = { lines: 0, created: 0, updated: 0, failed: 0, errors: [] }
    try {
      await importStream(context, body as AsyncIterable<Uint8Array>, report)
    } catch (error) {
      if (!isUnreachable(error)) throw error
      throw new Failure(
        50301,
        `The database became unreachable after ${report.created + report.updated} devices; repeating the import is safe.`,
        { retryAfter: 2 },
      )
    }
    report.errors.sort((a, b) => a.line - b.line)
    await note(context, 'device.import', {
      lines: report.lines,
      created: report.created,
      updated: report.updated,
      failed: report.failed,
    })
    return report
  },
})

async function importStream(
  context: Context,
  body: AsyncIterable<Uint8Array>,
  report: Report,
): Promise<void> {
  const { adapters, db } = context.deps
  const into = openDeviceImport(db, context.appId)
  const lanes = Array.from({ length: LANES }, () => openLane(into, report))
  const splitter = createLineSplitter()

  async function take(lines: SplitLine[]): Promise<void> {
    for (const line of lines) {
      if ('text' in line && line.text.trim() === '') continue
      report.lines++
      if ('problem' in line) {
        noteError(report, line.no, line.problem)
        continue
      }
      const device = read(line)
      if (!device) continue
      // One device always takes the same lane, so that the later of its lines wins.
      const full = lanes[laneOf(device.guid)]!.add(line.no, device)
      if (full) await full
    }
  }

  function read(line: { no: number; text: string }): ImportDevice | undefined {
    try {
      return readImportLine(line.text, adapters)
    } catch (error) {
      if (!(error instanceof BadLine)) throw error
      noteError(report, line.no, error.message)
      return undefined
    }
  }

  try {
    for await (const chunk of whole(body)) await take(splitter.push(chunk))
    await take(splitter.end())
  } finally {
    // Also when the caller hung up: what is under way must not outlive the request.
    await Promise.allSettled(lanes.map((lane) => lane.idle()))
  }
  await Promise.all(lanes.map((lane) => lane.flush()))
}

/** A caller that hangs up is no failure of ours, and its lost connection not that of the database. */
async function* whole(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch {
    throw new Failure(40001, 'The body ended before it was complete.')
  }
}

function laneOf(guid: string): number {
  let hash = 0
  for (let i = 0; i < guid.length; i++) hash = (Math.imul(hash, 31) + guid.charCodeAt(i)) | 0
  return (hash >>> 0) % LANES
}

/** Gathers a batch while the one before is being written; who adds faster than Postgres writes waits here. */
function openLane(into: DeviceImport, report: Report) {
  let numbers: number[] = []
  let devices: ImportDevice[] = []
  let writing: Promise<void> = Promise.resolve()

  async function write(batch: ImportDevice[], lines: number[]): Promise<void> {
    const { created, updated, unknownUser } = await into.add(batch)
    report.created += created
    report.updated += updated
    for (const index of unknownUser)
      noteError(report, lines[index]!, `user_id ${batch[index]!.userId} does not exist`)
  }

  async function start(): Promise<void> {
    await writing
    if (devices.length === 0) return
    writing = write(devices, numbers)
    // Awaited by whoever comes next; without a listener of its own a failure would end the process first.
    writing.catch(() => {})
    numbers = []
    devices = []
  }

  return {
    /** Undefined while there is room: a promise for every line would cost more than reading it. */
    add(no: number, device: ImportDevice): Promise<void> | undefined {
      numbers.push(no)
      devices.push(device)
      return devices.length >= BATCH ? start() : undefined
    },
    idle: () => writing,
    async flush(): Promise<void> {
      await start()
      await writing
    },
  }
}

function noteError(report: Report, line: number, error: string): void {
  report.failed++
  if (report.errors.length < SHOWN_ERRORS) report.errors.push({ line, error: `Line ${line}: ${error}.` })
}
