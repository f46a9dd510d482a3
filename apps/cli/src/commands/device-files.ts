import { once } from 'node:events'
import { createWriteStream, type WriteStream } from 'node:fs'
import type { ImportReport } from '@herald/client'
import { providerOf, vendorChannels } from '@herald/domain'
import { type Command, Option } from 'commander'
import { CsvProblem, csvRecords } from '../csv-records.ts'
import { type BatchCounts, type RefusedLine, sendBatches } from '../device-batches.ts'
import { examples } from '../examples.ts'
import { CliFailure, SilentFailure } from '../failure.ts'
import { bytes, count, duration, plural } from '../format.ts'
import { counted, openLines } from '../import-stream.ts'
import type { Io } from '../io.ts'
import { oneSignalLines, type Skipped } from '../onesignal.ts'
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
      let problem: CsvProblem | undefined
      async function* lines(): AsyncGenerator<Uint8Array> {
        const chunks = counted(source.chunks, shown.update)
        if (flags.from === undefined) return yield* chunks
        try {
          yield* oneSignalLines(csvRecords(chunks), (why) => skipped.set(why, (skipped.get(why) ?? 0) + 1))
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
        io.record({ ...result, ...(flags.from && { skipped: Object.fromEntries(skipped) }) })
        show(io, result, (performance.now() - began) / 1000)
        for (const [why, rows] of skipped) io.say(`Skipped, ${why}: ${plural(rows, 'row')}.`)
        if (result.failed > 0) throw new SilentFailure()
      } finally {
        shown.stop()
        await source.close()
      }
    })
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
              refused?.write(`${line.text}\n`)
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
