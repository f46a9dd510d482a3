import { once } from 'node:events'
import type { DevicePath, DeviceSelector } from '@herald/client'
import type { Command } from 'commander'
import { examples } from '../examples.ts'
import { CliFailure, UsageFailure } from '../failure.ts'
import { table, timestamp } from '../format.ts'
import { readId } from '../parse.ts'
import { openShell } from '../shell.ts'

export type WhoFlags = { pushToken?: string; device?: string; alias?: string; user?: bigint }

/** The flags that select one device or one person. */
export function addWhoOptions(command: Command): void {
  command
    .option('--device <device_guid>', 'the device with this device_guid')
    .option('--push-token <token>', 'the device with this push token')
    .option('--alias <alias>', 'all devices with this alias')
    .option('--user <user_id>', 'all devices of this user', readId)
}

export function whoOf({ pushToken, device, alias, user }: WhoFlags): DeviceSelector {
  const given: DeviceSelector[] = []
  if (device !== undefined) given.push({ device_guid: device })
  if (pushToken !== undefined) given.push({ push_token: pushToken })
  if (alias !== undefined) given.push({ alias })
  if (user !== undefined) given.push({ user_id: user })
  if (given.length !== 1) throw new UsageFailure('Use one of --device, --push-token, --alias and --user.')
  return given[0]!
}

export function addHistoryCommands(task: Command): void {
  const device = task
    .command('device')
    .argument('<task_id>', 'task', readId)
    .description('Show the result of a push on a device, or on the devices of a person')
  addWhoOptions(device)
  device
    .addHelpText('after', examples('task device 1234 --alias customer-17', 'task device 1234 --device 5f0c…'))
    .action(async (id: bigint, flags: WhoFlags, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const who = whoOf(flags)
      const paths = await asAdmin((server) => server.taskDevice(id, who))
      for (const path of paths) io.record(path)
      const head = ['device', 'channel', 'fate', 'at', 'code', 'reason', 'received', 'clicked']
      io.say(table(head, paths.flatMap(rowsOf)))
    })
  task
    .command('export')
    .argument('<task_id>', 'task', readId)
    .description('Write the result of a task for every device to stdout, one JSON object per line')
    .addHelpText('after', examples('task export 1234 > devices.ndjson'))
    .action(async (id: bigint, _flags: object, command: Command) => {
      const { asAdmin } = openShell(command)
      await asAdmin(async (server) => {
        let end = ''
        for await (const chunk of server.exportChunks(id)) {
          end = (end + Buffer.from(chunk).toString('latin1')).slice(-MAX_LINE)
          if (!process.stdout.write(chunk)) await once(process.stdout, 'drain')
        }
        const last = end.trimEnd().split('\n').at(-1) ?? ''
        if (!last.startsWith('{"sums":') || !end.endsWith('\n'))
          throw new CliFailure('The export was cut off: its last line, with the sums, is missing.')
      })
    })
}

/** The last line is shorter. */
const MAX_LINE = 65_536

const time = (seconds: number | null) => (seconds === null ? '-' : timestamp(seconds))

function rowsOf({ device_guid, path, received_at, clicked_at }: DevicePath): string[][] {
  if (path.length === 0) return [[device_guid, '-', 'no recipient', '-', '', '', '-', '-']]
  return path.map(({ channel, fate, at, code, reason }, i) => [
    i === 0 ? device_guid : '',
    channel,
    fate,
    time(at),
    code ?? '',
    reason ?? '',
    i === 0 ? time(received_at) : '',
    i === 0 ? time(clicked_at) : '',
  ])
}
