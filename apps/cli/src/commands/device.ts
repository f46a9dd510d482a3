import type { DeviceChange } from '@herald/client'
import type { Command } from 'commander'
import { confirmByName } from '../confirm.ts'
import { type DeviceFlags, deviceOf, erasureOf } from '../device-flags.ts'
import { examples } from '../examples.ts'
import { UsageFailure } from '../failure.ts'
import { plural, table, timestamp } from '../format.ts'
import { gather, readId, readObject, readSwitch, wholeNumber } from '../parse.ts'
import { openShell } from '../shell.ts'
import { exampleChannel } from '../vendor-fields.ts'
import { addDeviceFileCommands } from './device-files.ts'
import { addWhoOptions, type WhoFlags, whoOf } from './task-history.ts'

const text = (value: string) => value

export function addDeviceCommands(program: Command): void {
  const device = program.command('device').description('Devices of the application')
  addPut(device)
  addDeviceFileCommands(device)
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
    .command('remove [device_guid]')
    .description('Remove a device and its vendor tokens; ends its open connection')
    .option('--push-token <token>', 'the device with this push token')
    .addHelpText('after', examples('device remove a1', 'device remove --push-token Zk3f…'))
    .action(async (guid: string | undefined, flags: { pushToken?: string }, command: Command) => {
      const { pushToken } = flags
      if ((guid === undefined) === (pushToken === undefined))
        throw new UsageFailure('Name one device: its device_guid, or --push-token.')
      const { io, asAdmin } = openShell(command)
      const found = guid !== undefined ? { device_guid: guid } : { push_token: pushToken! }
      await asAdmin((server) => server.removeDevice(found))
      io.record({ ...found, removed: true })
      io.say('The device is removed.')
    })
  addMessages(device)
  addErase(device)
}

type MessageFlags = WhoFlags & { limit: number; before?: bigint }

function addMessages(device: Command): void {
  const messages = device
    .command('messages')
    .description('List the messages of a device or person, newest first')
  addWhoOptions(messages)
  messages
    .option('--limit <number>', 'maximum number of tasks', wholeNumber(1, 1000), 20)
    .option('--before <task_id>', 'only messages of older tasks', readId)
    .addHelpText('after', examples('device messages --alias customer-17', 'device messages --device 5f0c…'))
    .action(async ({ limit, before, ...flags }: MessageFlags, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const who = whoOf(flags)
      const { list, next } = await asAdmin((server) => server.deviceMessages(who, { limit, before }))
      for (const message of list) io.record(message)
      const time = (seconds: number | null) => (seconds === null ? '-' : timestamp(seconds))
      const rows = list.map((one) => [
        String(one.task_id),
        one.device_guid,
        one.title ?? '-',
        one.channel,
        one.fate,
        time(one.at),
        one.code ?? '',
        time(one.received_at),
        time(one.clicked_at),
      ])
      io.say(rows.length === 0 ? 'There are no messages.' : table(messageHead, rows))
      if (next !== null) io.note(`More messages: --before ${next}`)
    })
}

const messageHead = ['task_id', 'device', 'title', 'channel', 'fate', 'at', 'code', 'received', 'clicked']

function addPut(device: Command): void {
  device
    .command('put <device_guid>')
    .description(
      'Create a device or change it, and print its push token; fields without a flag stay as they are',
    )
    .option('--platform <name>', 'ios, android or harmony')
    .option('--alias <text>', 'alias: usually your own id of the user')
    .option('--user <user_id>', 'Herald user who owns the device', readId)
    .option('--tag <tag>', 'replaces all tags; may be repeated', gather(text))
    .option('--add-tag <tag>', 'adds a tag; may be repeated', gather(text))
    .option('--remove-tag <tag>', 'removes a tag; may be repeated', gather(text))
    .option(
      '--binding <channel=token>',
      `vendor token, for example ${exampleChannel}=IQAA…; may be repeated`,
      gather(text),
    )
    .option('--development', 'the vendor tokens are those of a development build')
    .option('--attributes <json>', 'object of at most 20 texts, numbers or booleans', readObject)
    .option('--locale <name>', 'for example zh-CN')
    .option('--timezone <name>', 'for example Asia/Shanghai')
    .option('--app-version <text>', 'version of the app')
    .option('--enabled <on|off>', 'off: the device receives nothing', readSwitch)
    .option('--clear <field>', 'clears a field, for example alias at logout; may be repeated', gather(text))
    .addHelpText(
      'after',
      examples(
        `device put 5f0c… --platform android --alias customer-17 --add-tag vip --binding ${exampleChannel}=IQAA…`,
        'device put 5f0c… --clear alias',
        'device put 5f0c… --enabled off',
      ),
    )
    .action(async (guid: string, flags: DeviceFlags, command: Command) => {
      const change: DeviceChange = deviceOf(guid, flags)
      const { io, asAdmin } = openShell(command)
      const result = await asAdmin((server) => server.putDevice(change))
      io.record(result)
      // Only the token, so that a shell can capture it.
      io.say(result.push_token)
      io.note(result.created ? 'The device is created.' : 'The device is changed.')
    })
}

function addErase(device: Command): void {
  device
    .command('erase [device_guid]')
    .description('Erase a person or a device, and all that names them; asks for the name to be typed')
    .option('--alias <text>', 'all devices with this alias')
    .option('--user <user_id>', 'this Herald user with all devices', readId)
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      `
Erases devices, vendor tokens, receipts, waiting messages and failure samples, for --user also the user. It cannot be undone;
repeating it is safe. See docs/operations.md for backups and logs.
${examples('device erase --alias customer-17', 'device erase 5f0c… --yes')}`,
    )
    .action(
      async (
        guid: string | undefined,
        flags: { alias?: string; user?: bigint; yes?: boolean },
        command: Command,
      ) => {
        const { erasure, what, name } = erasureOf(guid, flags)
        const { io, asAdmin } = openShell(command)
        if (!flags.yes) await confirmByName(`Erases ${what}.`, name)
        const { devices } = await asAdmin((server) => server.erase(erasure))
        io.record({ devices })
        io.say(`Erased: ${plural(devices, 'device')}.`)
      },
    )
}
