import { once } from 'node:events'
import { createWriteStream, fstatSync, statSync, type WriteStream } from 'node:fs'
import type { ImportReport } from '@herald/client'
import { providerOf, vendorChannels } from '@herald/domain'
import { type Command, Option } from 'commander'
import { CsvProblem, csvRecords } from '../csv-records.ts'
import { type BatchCounts, type RefusedLine, sendBatches } from '../device-batches.ts'
import { examples } from '../examples.ts'
import { CliFailure, SilentFailure, UsageFailure } from '../failure.ts'
import { bytes, count, duration, plural } from '../format.ts'
import { counted, openLines } from '../import-stream.ts'
import type { Io } from '../io.ts'
import { type LostTags, oneSignalLines, type Skipped } from '../onesignal.ts'
import { openProgress } from '../progress.ts'
import { createRate } from '../rate.ts'
import { fromCaller, openShell } from '../shell.ts'
import { textLines } from '../text-lines.ts'
import { exampleChannel, vendors } from '../vendor-fields.ts'

/** Reasons that are printed. */
const MAX_SHOWN = 100

const lineHelp = `
A line: {"device_guid":"5f0c…","platform":"android","alias":"customer-17","tags":["vip"],"locale":"zh-CN",
         "bindings":[{"provider":"${exampleChannel}","device_token":"…"}]}
Absent fields of a known device stay as they are, null clears them; add_tags and remove_tags change single tags.
Providers: ${vendorChannels.map((vendor) => `${providerOf(vendor)} ${vendors[vendor].title}`).join(', ')}.`

export function addDeviceFileCommands(device: Command): void {
  addImport(device)
  addBatch(device)
}

type ImportFlags = { from?: 'onesignal' }

function addImport(device: Command): void {
  device
    .command('import <file>')
    .description(
      'Import devices from NDJSON, one device per line; - reads stdin. An import can be repeated safely',
    )
    .addOption(
      new Option('--from <service>', 'the file is a CSV export of this service').choices(['onesignal']),
    )
    .addHelpText(
      'after',
      `${lineHelp}
Valid lines are imported. Refused lines give exit code 1; the first 100 are printed with their reasons. device batch writes all of
them to a file.
${examples('device import devices.ndjson', 'device import - < devices.ndjson', 'device import --from onesignal users.csv')}`,
    )
    .action(async (path: string, flags: ImportFlags, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const source = await openLines(path)
      const began = performance.now()
      const shown = openReport(io, source.size, began)
      const skipped = new Map<Skipped, number>()
      const lost = new Map<LostTags, number>()
      let problem: CsvProblem | undefined
      async function* lines(): AsyncGenerator<Uint8Array> {
        const chunks = counted(source.chunks, shown.update)
        if (flags.from === undefined) return yield* chunks
        try {
          yield* oneSignalLines(
            csvRecords(chunks),
            (why) => add(skipped, why),
            (why) => add(lost, why),
          )
        } catch (error) {
          if (error instanceof CsvProblem) problem = error
          throw error
        }
      }
      try {
        const result = await asAdmin((server) => server.importLines(lines())).catch((error) => {
          // The request fails as well, and would be reported as a broken connection.
          throw problem ?? error
        })
        shown.stop()
        io.record({
          ...result,
          ...(flags.from && { skipped: Object.fromEntries(skipped), lost_tags: Object.fromEntries(lost) }),
        })
        show(io, result, (performance.now() - began) / 1000)
        for (const [why, rows] of skipped) io.say(`Skipped, ${why}: ${plural(rows, 'row')}.`)
        for (const [why, rows] of lost) io.say(`Tags ${why}: ${plural(rows, 'row')}.`)
        if (result.failed > 0) throw new SilentFailure()
      } finally {
        shown.stop()
        await source.close()
      }
    })
}

function add<Why>(rows: Map<Why, number>, why: Why): void {
  rows.set(why, (rows.get(why) ?? 0) + 1)
}

function addBatch(device: Command): void {
  device
    .command('batch <file>')
    .description(
      'Create or change devices from NDJSON in batches of 1000; - reads stdin. It can be repeated safely',
    )
    .option(
      '--refused <file>',
      'writes refused lines to this file, so that they can be corrected and sent again',
    )
    .addHelpText(
      'after',
      `${lineHelp}
Valid lines are written. Refused lines give exit code 1; the first 100 are printed with their reasons, --refused keeps all.
${examples('device batch devices.ndjson --refused refused.ndjson', 'device batch - < devices.ndjson')}`,
    )
    .action(async (path: string, flags: { refused?: string }, command: Command) => {
      const { io, asAdmin } = openShell(command)
      if (flags.refused !== undefined && isSameFile(path, flags.refused))
        throw new UsageFailure(`--refused: ${flags.refused} is the file that is read; name another one.`)
      const source = await openLines(path)
      const refused = flags.refused === undefined ? undefined : await openRefused(flags.refused)
      const began = performance.now()
      const shown = openReport(io, source.size, began)
      const counts: BatchCounts = { lines: 0, created: 0, updated: 0, failed: 0 }
      const errors: ImportReport['errors'] = []
      let last = 0
      try {
        await asAdmin((server) =>
          sendBatches(textLines(source.chunks), (devices) => server.putDevices(devices), counts, {
            refused({ line, reason }: RefusedLine) {
              refused?.write(line.invalid ?? line.text)
              refused?.write('\n')
              if (errors.length < MAX_SHOWN)
                errors.push({ line: line.no, error: `Line ${line.no}: ${reason}` })
            },
            sent(line) {
              last = line.no
              shown.update(line.end, line.no)
            },
          }),
        ).catch((error) => {
          shown.stop()
          io.note(`Lines up to ${count(last)} are done; the command can be repeated with the whole file.`)
          throw error
        })
        shown.stop()
        io.record({ ...counts, errors })
        show(io, { ...counts, errors }, (performance.now() - began) / 1000)
        if (counts.failed > 0) throw new SilentFailure()
      } finally {
        shown.stop()
        await source.close()
        if (refused) await closed(refused)
      }
    })
}

/** Whether both are one file, also through links: opening it for writing would empty it. The input `-` may be redirected from a file. */
function isSameFile(input: string, output: string): boolean {
  const exact = { bigint: true } as const
  try {
    const from = input === '-' ? fstatSync(0, exact) : statSync(fromCaller(input), exact)
    const to = statSync(fromCaller(output), exact)
    return from.isFile() && from.dev === to.dev && from.ino === to.ino
  } catch {
    // One of them does not exist, or opening it says what is wrong.
    return false
  }
}

/** Opens the file before the first request, so that a wrong name fails at once. */
async function openRefused(path: string): Promise<WriteStream> {
  const stream = createWriteStream(fromCaller(path))
  try {
    await once(stream, 'open')
  } catch (error) {
    throw new CliFailure(`--refused: ${path} cannot be written (${(error as NodeJS.ErrnoException).code}).`)
  }
  return stream
}

async function closed(stream: WriteStream): Promise<void> {
  stream.end()
  await once(stream, 'close')
}

/** The progress of a file. */
function openReport(io: Io, size: number | undefined, began: number) {
  const progress = openProgress(io)
  const rate = createRate()
  return {
    update(sent: number, lines: number): void {
      const now = performance.now()
      const speed = rate.at(now, lines)
      const bytesPerSecond = (sent * 1000) / (now - began)
      progress.update(sent, size ?? 0, progressText({ sent, lines, speed, bytesPerSecond, size }))
    },
    stop: () => progress.stop(),
  }
}

function progressText(at: {
  sent: number
  lines: number
  speed: number
  bytesPerSecond: number
  size: number | undefined
}): string {
  const parts = [`${plural(at.lines, 'line')}`, `${count(at.speed)}/s`]
  if (at.size === undefined) parts.push(bytes(at.sent))
  else if (at.sent >= at.size) parts.push('waiting for the last commits')
  else parts.push(`ETA ${duration((at.size - at.sent) / at.bytesPerSecond)}`)
  return parts.join(' | ')
}

function show(
  io: Io,
  {
    lines,
    created,
    updated,
    unchanged,
    failed,
    errors,
  }: Omit<ImportReport, 'unchanged'> & { unchanged?: number },
  seconds: number,
): void {
  const same = unchanged === undefined ? '' : ` ${count(unchanged)} unchanged,`
  io.say(
    `${plural(lines, 'line')} in ${duration(seconds)}: ${count(created)} created, ${count(updated)} updated,${same} ${count(failed)} refused.`,
  )
  for (const { error } of errors) io.note(error)
  if (failed > errors.length) io.note(`… and ${plural(failed - errors.length, 'line')} more.`)
}
