import type { ImportReport } from '@herald/client'
import type { Command } from 'commander'
import { examples } from '../examples.ts'
import { Unsatisfied } from '../failure.ts'
import { counted, openLines } from '../import-stream.ts'
import type { Io } from '../io.ts'
import { openProgress } from '../progress.ts'
import { createRate } from '../rate.ts'
import { openShell } from '../shell.ts'
import { bytes, count, duration, plural } from '../words.ts'

export function addDeviceCommands(program: Command): void {
  program
    .command('device')
    .description('Devices of the application')
    .command('import <file>')
    .description('Import devices from NDJSON, one device a line; - reads stdin. Repeating an import is safe')
    .addHelpText(
      'after',
      `
A line: {"device_guid":"a1","platform":"android","user_id":7,"alias":"bob","tags":["vip"],
         "bindings":[{"provider":2,"device_token":"…"}]}
Providers: 1 APNs, 2 Huawei, 3 Xiaomi, 4 Meizu, 5 vivo, 6 OPPO, 7 FCM, 8 Honor.
Lines that are refused are named, the first 100 with their reasons, and make the exit code 1; the others are imported.
${examples('device import devices.ndjson', 'device import - < devices.ndjson')}`,
    )
    .action(async (path: string, _flags: object, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const source = await openLines(path)
      const began = performance.now()
      const progress = openProgress(io)
      const rate = createRate()
      const tell = (sent: number, lines: number) => {
        const now = performance.now()
        const speed = rate.at(now, lines)
        const bytesPerSecond = (sent * 1000) / (now - began)
        progress.update(
          sent,
          source.size ?? 0,
          wordsOf({ sent, lines, speed, bytesPerSecond, size: source.size }),
        )
      }
      try {
        const report = await asAdmin((server) => server.importLines(counted(source.chunks, tell)))
        progress.stop()
        io.record(report)
        show(io, report, (performance.now() - began) / 1000)
        if (report.failed > 0) throw new Unsatisfied()
      } finally {
        progress.stop()
        await source.close()
      }
    })
}

function wordsOf(at: {
  sent: number
  lines: number
  speed: number
  bytesPerSecond: number
  size: number | undefined
}): string {
  const words = [`${plural(at.lines, 'line')}`, `${count(at.speed)}/s`]
  if (at.size === undefined) words.push(bytes(at.sent))
  else if (at.sent >= at.size) words.push('waiting for the last commits')
  else words.push(`ETA ${duration((at.size - at.sent) / at.bytesPerSecond)}`)
  return words.join(' | ')
}

function show(io: Io, { lines, created, updated, failed, errors }: ImportReport, seconds: number): void {
  io.say(
    `${plural(lines, 'line')} in ${duration(seconds)}: ${count(created)} created, ${count(updated)} updated, ${count(failed)} refused.`,
  )
  for (const { error } of errors) io.note(error)
  if (failed > errors.length) io.note(`… and ${plural(failed - errors.length, 'line')} more.`)
}
