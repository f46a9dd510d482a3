import { strategies } from '@herald/domain'
import { type Command, Option } from 'commander'
import { examples } from '../examples.ts'
import { count, table } from '../format.ts'
import { type AudienceFlags, audienceOf, type SettingFlags, settingOf } from '../notification.ts'
import { openShell } from '../shell.ts'
import { addAudienceOptions } from './notify.ts'

type CountFlags = AudienceFlags & Pick<SettingFlags, 'strategy' | 'sequence'>

export function addCountCommand(program: Command): void {
  const command = program
    .command('count')
    .description('Count the devices of an audience by channel; sends nothing')
  addAudienceOptions(command)
  command
    .optionsGroup('Delivery:')
    .addOption(new Option('--strategy <name>', 'distribution strategy').choices(strategies))
    .option('--sequence <words>', 'order of vendors, separated by commas')
    .addHelpText('after', examples('count --all', 'count --tag vip --strategy ospush_only'))
    .action(async (flags: CountFlags, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const audience = audienceOf(flags)
      const counted = await asAdmin((server) => server.countAudience({ audience, setting: settingOf(flags) }))
      io.record(counted)
      const atLeast = counted.exact ? '' : 'at least '
      io.say(`${atLeast}${count(counted.devices)} devices, ${count(counted.unreachable)} unreachable`)
      const rows = Object.entries(counted.by_channel).sort(([, a], [, b]) => b - a)
      if (rows.length > 0) io.say(table(['channel', 'devices'], rows))
    })
}
