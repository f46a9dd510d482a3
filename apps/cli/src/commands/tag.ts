import type { DeviceSelector, TagChangeReport } from '@herald/client'
import { toJson } from '@herald/domain'
import { type Command, Option } from 'commander'
import { examples } from '../examples.ts'
import { UsageFailure } from '../failure.ts'
import { plural, table } from '../format.ts'
import { openLines } from '../import-stream.ts'
import { gather, readId, wholeNumber } from '../parse.ts'
import { openShell } from '../shell.ts'
import { textLines } from '../text-lines.ts'

const kinds = ['alias', 'device_guid', 'push_token', 'user_id'] as const
type Kind = (typeof kinds)[number]
type MemberFlags = {
  alias?: string[]
  device?: string[]
  pushToken?: string[]
  user?: bigint[]
  file?: string
  by: Kind
}

/** What POST /admin/tag/member accepts at most. */
const MAX_ENTRIES = 1000
/** Unknown entries that are printed. */
const MAX_SHOWN = 100

const text = (value: string) => value

export function addTagCommands(program: Command): void {
  const tag = program.command('tag').description('Tags of the application')
  tag
    .command('list')
    .description('List the tags with the number of their devices, in the order of their names')
    .option('--limit <n>', 'maximum number of tags', wholeNumber(1, 1000))
    .option('--after <tag>', 'begin after this tag')
    .option('--prefix <text>', 'only tags that begin with this text')
    .addHelpText('after', examples('tag list', 'tag list --prefix city: --limit 100'))
    .action(async (flags: { limit?: number; after?: string; prefix?: string }, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const { list, next } = await asAdmin((server) => server.tags(flags))
      for (const one of list) io.record(one)
      io.say(
        list.length === 0
          ? 'There are no tags.'
          : table(
              ['tag', 'devices'],
              list.map((one) => [one.tag, one.devices]),
            ),
      )
      if (next !== null) io.note(`There are more: --after ${next}`)
    })
  addMembers(tag, 'add', 'Add a tag to devices')
  addMembers(tag, 'remove', 'Remove a tag from devices')
}

function addMembers(tag: Command, action: 'add' | 'remove', description: string): void {
  tag
    .command(`${action} <tag>`)
    .description(description)
    .option('--alias <text>', 'all devices with this alias; may be repeated', gather(text))
    .option('--device <device_guid>', 'a device; may be repeated', gather(text))
    .option('--push-token <token>', 'a device; may be repeated', gather(text))
    .option('--user <user_id>', 'all devices of a Herald user; may be repeated', gather(readId))
    .option('--file <file>', 'one entry per line, of any number; - is stdin')
    .addOption(new Option('--by <kind>', 'what a line of the file is').choices(kinds).default('alias'))
    .addHelpText(
      'after',
      examples(`tag ${action} vip --alias customer-17`, `tag ${action} spring-sale --file customers.txt`),
    )
    .action(async (name: string, flags: MemberFlags, command: Command) => {
      const given = selectorsOf(flags)
      if (given.length === 0 && flags.file === undefined)
        throw new UsageFailure('Name devices with --alias, --device, --push-token, --user or --file.')
      const { io, asAdmin } = openShell(command)
      const total = { added: 0, removed: 0 }
      let unknownCount = 0
      const unknown: DeviceSelector[] = []
      await asAdmin(async (server) => {
        for await (const entries of chunksOf(given, flags)) {
          const report: TagChangeReport = await server.changeTag(name, { [action]: entries })
          total.added += report.added
          total.removed += report.removed
          unknownCount += report.unknown.length
          unknown.push(...report.unknown.slice(0, MAX_SHOWN - unknown.length))
        }
      })
      io.record({ ...total, unknown, unknown_count: unknownCount })
      io.say(
        action === 'add'
          ? `Added to ${plural(total.added, 'device')}.`
          : `Removed from ${plural(total.removed, 'device')}.`,
      )
      for (const entry of unknown) io.note(`No device: ${toJson(entry)}`)
      if (unknownCount > unknown.length) io.note(`… and ${unknownCount - unknown.length} more.`)
    })
}

function selectorsOf({ alias, device, pushToken, user }: Omit<MemberFlags, 'by'>): DeviceSelector[] {
  return [
    ...(alias ?? []).map((value) => ({ alias: value })),
    ...(device ?? []).map((value) => ({ device_guid: value })),
    ...(pushToken ?? []).map((value) => ({ push_token: value })),
    ...(user ?? []).map((value) => ({ user_id: value })),
  ]
}

/** The entries of the flags and of the file, in constant memory. */
async function* chunksOf(
  given: DeviceSelector[],
  { file, by }: Pick<MemberFlags, 'file' | 'by'>,
): AsyncGenerator<DeviceSelector[]> {
  let entries = given
  if (file !== undefined) {
    const source = await openLines(file)
    try {
      for await (const { no, text, invalid } of textLines(source.chunks)) {
        if (invalid) throw new UsageFailure(`--file: line ${no} is not valid UTF-8.`)
        const value = text.trim()
        if (value === '') continue
        if (by === 'user_id' && !/^\d{1,19}$/.test(value))
          throw new UsageFailure(`--file: line ${no} is not a user_id.`)
        entries.push({ [by]: by === 'user_id' ? BigInt(value) : value } as DeviceSelector)
        if (entries.length < MAX_ENTRIES) continue
        yield entries
        entries = []
      }
    } finally {
      await source.close()
    }
  }
  for (let from = 0; from < entries.length; from += MAX_ENTRIES) yield entries.slice(from, from + MAX_ENTRIES)
}
