import type { StatCounts, StatsSearch } from '@herald/client'
import { type Command, Option } from 'commander'
import { examples } from '../examples.ts'
import { table, timestamp } from '../format.ts'
import { readTime } from '../parse.ts'
import { openShell } from '../shell.ts'

type Flags = { from?: number; to?: number; by: 'day' | 'hour'; channel?: string; campaign?: string }

const DAY = 86_400

export function addStatsCommand(program: Command): void {
  program
    .command('stats')
    .description('Sum targets, sent, received and clicked by day or hour')
    .option(
      '--from <time>',
      'first period: Unix seconds or 2027-01-31T00:00Z (default: six days ago)',
      readTime,
    )
    .option('--to <time>', 'end, not included (default: now)', readTime)
    .addOption(new Option('--by <period>', 'length of a period').choices(['day', 'hour']).default('day'))
    .option('--channel <name>', 'only this channel')
    .option('--campaign <name>', 'only tasks of this campaign')
    .addHelpText('after', examples('stats', 'stats --by hour --from 2027-01-31T00:00Z --campaign spring'))
    .action(async ({ from, to, ...flags }: Flags, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const end = to ?? Math.ceil(Date.now() / 1000)
      // Days of UTC.
      const search: StatsSearch = {
        ...flags,
        from: from ?? Math.floor((end - 1) / DAY) * DAY - 6 * DAY,
        to: end,
      }
      const stats = await asAdmin((server) => server.stats(search))
      io.record(stats)
      const rows = stats.list.map((period) => [timestamp(period.at), ...counts(period), period.unreachable])
      rows.push(['all', ...counts(stats.total), stats.total.unreachable])
      io.say(table(['period', ...columns, 'unreachable'], rows))
      const channels = stats.channels.map((one) => [one.channel, ...counts(one)])
      if (channels.length > 0) io.say(table(['channel', ...columns], channels))
    })
}

const columns = ['target', 'sent', 'failed', 'received', 'clicked']

const counts = (one: Omit<StatCounts, 'unreachable'>) => [
  one.target,
  one.sent,
  one.failed,
  one.received,
  one.clicked,
]
