import { randomUUID } from 'node:crypto'
import type { HeraldServer } from '@herald/client'
import { defaultSequence, sequenceWords, strategies } from '@herald/domain'
import { type Command, Option } from 'commander'
import { examples, HERALD } from '../examples.ts'
import { CliFailure, isInDoubt, sentenceOf, UsageFailure } from '../failure.ts'
import { table } from '../format.ts'
import {
  type AudienceFlags,
  type MessageFlags,
  messageOf,
  notificationOf,
  type SettingFlags,
  settingOf,
} from '../notification.ts'
import { gather, readId, readObject, readTime, wholeNumber } from '../parse.ts'
import { openShell, readText } from '../shell.ts'
import { watchTask } from '../watch-task.ts'

type FileFlag = { message?: string }
type NotifyFlags = AudienceFlags &
  MessageFlags &
  SettingFlags &
  FileFlag & { wait?: true; timeout?: number; offline?: true }
type ExplainFlags = MessageFlags & SettingFlags & FileFlag & { pushToken?: string; device?: string }

export function addNotifyCommands(program: Command): void {
  addNotify(program)
  addExplain(program)
}

function addNotify(program: Command): void {
  const notify = program.command('notify').description('Send a push')
  addAudienceOptions(notify)
  addMessageOptions(notify)
  notify
    .optionsGroup('Waiting:')
    .option('--wait', 'watch the task until it has finished')
    .option('--timeout <seconds>', 'with --wait: stop watching after this time', wholeNumber(1))
    .option('--offline', 'with --wait: also wait for offline devices')
    .addHelpText(
      'after',
      examples(
        'notify --all --title "Hello" --body "From the command line" --wait',
        `notify --tag vip --tag beta --title "For you" --strategy ospush_only --sequence ${[sequenceWords[1], ...defaultSequence]}`,
        'notify --user 7 --message message.json --request-id order-77',
        'notify --all --title "Good morning" --begin 2027-01-31T08:00Z --speed 500',
      ),
    )
    .action(async (flags: NotifyFlags, command: Command) => {
      const { io, asAdmin } = openShell(command)
      // With an id the push can be repeated when its answer is lost. The API ignores one of white space.
      const requestId = flags.requestId?.trim() ? flags.requestId : randomUUID()
      const notification = notificationOf({ ...flags, requestId }, messageFile(flags))
      if ((flags.timeout !== undefined || flags.offline) && !flags.wait)
        throw new UsageFailure('--timeout and --offline require --wait.')
      let inDoubt = false
      await asAdmin(async (server) => {
        const { task_id, repeated } = await server.notify(notification).catch((error) => {
          inDoubt = isInDoubt(error)
          throw error
        })
        io.record({ task_id, ...(repeated && { repeated }) })
        io.say(`task_id  ${task_id}`)
        if (repeated) io.note('The request id was used before: nothing was pushed.')
        if (flags.wait)
          await watchTask({ server, io }, task_id, { seconds: flags.timeout, offline: flags.offline })
        else io.note(`To watch it: ${HERALD} task watch ${task_id}`)
      }).catch((error) => {
        if (!inDoubt) throw error
        throw new CliFailure(
          `${sentenceOf(error)} The push may have been accepted. Repeat it with --request-id ${requestId}: it is sent once.`,
          { cause: error },
        )
      })
    })
}

export function addAudienceOptions(command: Command): void {
  const text = (value: string) => value
  command
    .optionsGroup('Audience (one kind; list flags may be repeated, up to 500 values):')
    .option('--all', 'all devices')
    .option('--tag <tag...>', 'devices with any of these tags', gather(text))
    .option('--alias <alias...>', 'devices with any of these aliases', gather(text))
    .option('--user <user_id...>', 'devices of these users', gather(readId))
    .option('--push-token <token...>', 'devices with these push tokens', gather(text))
    .option(
      '--activity <id...>',
      'devices that show these Live Activities; the message needs ios.live_activity',
      gather(text),
    )
}

function addExplain(program: Command): void {
  const explain = program
    .command('explain')
    .description('Show which channel a device would get and why; sends nothing')
  explain
    .optionsGroup('Device (one of these):')
    .option('--push-token <token>', 'by its push token')
    .option('--device <device_guid>', 'by its device_guid')
  addMessageOptions(explain)
  explain
    .addHelpText(
      'after',
      examples(
        'explain --device demo-several --title Hello',
        'explain --push-token "$TOKEN" --strategy ospush_only',
      ),
    )
    .action(async (flags: ExplainFlags, command: Command) => {
      const { io, asAdmin } = openShell(command)
      if ((flags.pushToken === undefined) === (flags.device === undefined))
        throw new UsageFailure('Use either --push-token or --device.')
      const message = messageOf(flags, messageFile(flags))
      // The API requires a message; callers that only want the route need not give one.
      if (Object.keys(message).length === 0) message.title = 'Hello'
      await asAdmin(async (server) => {
        const token = flags.pushToken ?? (await pushTokenOf(server, flags.device!))
        const route = await server.explain({ message, setting: settingOf(flags) }, token)
        io.record(route)
        io.say(`${route.channel ?? 'no channel'}: ${route.reason} (${route.code})`)
        for (const note of route.notes) io.say(`${io.paint('yellow', 'note')}: ${note}`)
        if (route.others.length > 0)
          io.say(
            table(
              ['other channel', 'code', 'reason'],
              route.others.map(({ channel, code, reason }) => [channel, code, reason]),
            ),
          )
        for (const { channel, notes = [] } of route.others)
          for (const note of notes) io.say(`${io.paint('yellow', 'note')} for ${channel}: ${note}`)
      })
    })
}

async function pushTokenOf(server: HeraldServer, guid: string): Promise<string> {
  const { list } = await server.devices({ device_guid: guid, limit: 1 })
  if (!list[0]) throw new CliFailure(`There is no device ${guid}.`)
  return list[0].push_token
}

function addMessageOptions(command: Command): void {
  command
    .optionsGroup('Message:')
    .addOption(new Option('--type <name>', 'message type').choices(['text', 'image', 'cmd']))
    .option('--title <text>', 'title')
    .option('--body <text>', 'content')
    .option('--image <url>', 'URL of an image, audio or video')
    .option('--big-text <text>', 'longer content, if the vendor supports it')
    .option('--badge <number>', '5 sets the badge, +2 adds to it')
    .option('--ext <json>', 'JSON object for the app', readObject)
    .option('--begin <time>', 'start time: Unix seconds, 2027-01-31T08:00Z, or +30m', readTime)
    .option('--end <time>', 'end time', readTime)
    .option('--link <url>', 'https address or deep link that a tap opens')
    .option('--collapse-key <key>', 'replaces the notification on the screen with the same key')
    .addOption(
      new Option('--foreground <name>', 'whether it is shown while the app is in front').choices([
        'show',
        'hide',
      ]),
    )
    .option('--urgent', 'asks the vendor to wake the device for a cmd message')
    .option(
      '--message <file>',
      'message object as JSON, for all other fields; - reads stdin; flags override it',
    )
    .optionsGroup('Delivery:')
    .addOption(new Option('--strategy <name>', 'distribution strategy').choices(strategies))
    .option('--sequence <words>', `order of vendors, separated by commas: ${sequenceWords.join(', ')}`)
    .option('--request-id <id>', 'idempotency key: a repeated id pushes nothing (default: a random one)')
    .option('--speed <number>', 'devices per second', wholeNumber(1))
    .addOption(new Option('--priority <name>', 'priority lane').choices(['high', 'normal']))
    .option('--ttl <seconds>', 'how long to retry; 0 = only devices reachable now', wholeNumber(0, 2_592_000))
    .addOption(new Option('--class <name>', 'message class').choices(['service', 'marketing']))
    .option('--campaign <name>', 'what the push belongs to, for stats and task list')
    .option('--events', 'events about each device go to the webhooks and the event list')
}

function messageFile({ message: path }: FileFlag): Record<string, unknown> | undefined {
  if (path === undefined) return undefined
  const text = readText(path, '--message')
  try {
    return readObject(text)
  } catch (error) {
    throw new CliFailure(`--message: ${path} is not a message. ${(error as Error).message}`)
  }
}
