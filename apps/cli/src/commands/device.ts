import type { ImportReport } from '@herald/client'
import { providerOf, vendorChannels } from '@herald/domain'
import type { Command } from 'commander'
import { examples } from '../examples.ts'
import { SilentFailure } from '../failure.ts'
import { bytes, count, duration, plural } from '../format.ts'
import { counted, openLines } from '../import-stream.ts'
import type { Io } from '../io.ts'
import { openProgress } from '../progress.ts'
import { createRate } from '../rate.ts'
import { openShell } from '../shell.ts'
import { vendors } from '../vendor-fields.ts'

export function addDeviceCommands(program: Command): void {
  const device = program.command('device').description('Devices of the application')
  device
    .command('token <device_guid>')
    .description('Replace the push token of a device; the old one stops working at once')
    .addHelpText('after', examples('device token a1'))
    .action(async (guid: string, _flags: object, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const push_token = await asAdmin((server) => server.replacePushToken(guid))
      io.record({ push_token })
      // Only the token, so that a shell can capture it.
      io.say(push_token)
    })
  device
    .command('import <file>')
    .description(
      'Import devices from NDJSON, one device per line; - reads stdin. An import can be repeated safely',
    )
    .addHelpText(
      'after',
      `
A line: {"device_guid":"a1","platform":"android","user_id":7,"alias":"bob","tags":["vip"],
         "bindings":[{"provider":2,"device_token":"…"}]}
Providers: ${vendorChannels.map((vendor) => `${providerOf(vendor)} ${vendors[vendor].title}`).join(', ')}.
Valid lines are imported. Refused lines give exit code 1; the first 100 are printed with their reasons.
${examples('device import devices.ndjson', 'device import - < devices.ndjson')}`,
    )
    .action(async (path: string, _flags: object, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const source = await openLines(path)
      const began = performance.now()
      const progress = openProgress(io)
      const rate = createRate()
      const report = (sent: number, lines: number) => {
        const now = performance.now()
        const speed = rate.at(now, lines)
        const bytesPerSecond = (sent * 1000) / (now - began)
        progress.update(
          sent,
          source.size ?? 0,
          progressText({ sent, lines, speed, bytesPerSecond, size: source.size }),
        )
      }
      try {
        const result = await asAdmin((server) => server.importLines(counted(source.chunks, report)))
        progress.stop()
        io.record(result)
        show(io, result, (performance.now() - began) / 1000)
        if (result.failed > 0) throw new SilentFailure()
      } finally {
        progress.stop()
        await source.close()
      }
    })
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

function show(io: Io, { lines, created, updated, failed, errors }: ImportReport, seconds: number): void {
  io.say(
    `${plural(lines, 'line')} in ${duration(seconds)}: ${count(created)} created, ${count(updated)} updated, ${count(failed)} refused.`,
  )
  for (const { error } of errors) io.note(error)
  if (failed > errors.length) io.note(`… and ${plural(failed - errors.length, 'line')} more.`)
}
