import type { AuditEntry, AuditSearch } from '@herald/client'
import type { Command } from 'commander'
import { examples } from '../examples.ts'
import { table, timestamp } from '../format.ts'
import { readTime, wholeNumber } from '../parse.ts'
import { openShell } from '../shell.ts'

export function addAuditCommands(program: Command): void {
  const audit = program.command('audit').description('See who did what')
  audit
    .command('list')
    .description('List the audit of the application, newest first')
    .option(
      '--from <time>',
      'only entries of this time or later: Unix seconds or 2027-01-31T08:00Z',
      readTime,
    )
    .option('--to <time>', 'only entries before this time', readTime)
    .option('--actor <name>', 'only entries of this actor, such as admin')
    .option('--action <name>', 'only this action, such as push.notify or task.cancel')
    .option('--before <place>', 'only older entries: as printed at the end of a page')
    .option('--installation', 'what concerns no application, such as wrong operator keys (operator)')
    .option('--limit <number>', 'maximum number of entries', wholeNumber(1, 1000), 20)
    .addHelpText('after', examples('audit list', 'audit list --action push.notify --from 2027-01-31'))
    .action(async ({ installation, ...search }: Flags, command: Command) => {
      const { io, asAdmin, asOperator } = openShell(command)
      const { list, next } = installation
        ? await asOperator((operator) => operator.auditList(search))
        : await asAdmin((server) => server.auditList(search))
      for (const one of list) io.record(one)
      io.say(list.length === 0 ? 'There are no entries.' : table(head, list.map(rowOf)))
      if (next !== null) io.note(`More entries: --before ${next}`)
    })
}

type Flags = AuditSearch & { installation?: true }

const head = ['at', 'actor', 'action', 'address', 'about']

function rowOf({ at, actor, action, address, detail }: AuditEntry): string[] {
  const about = Object.entries(detail).map(([name, value]) => `${name}=${value}`)
  return [timestamp(at), actor, action, address ?? '-', about.join(' ')]
}
