import type { Command } from 'commander'
import { examples } from '../examples.ts'
import { openShell } from '../shell.ts'

export function addDatabaseUrlCommand(program: Command): void {
  program
    .command('database-url')
    .description('Print the URL of the database, with its password, for psql and pg_dump')
    .addHelpText(
      'after',
      `
DATABASE_URL, or the Postgres of the standalone while that is running.
${examples('database-url')}`,
    )
    .action((_flags: object, command: Command) => {
      const { io, databaseUrl } = openShell(command)
      const url = databaseUrl()
      io.record({ url })
      io.say(url)
    })
}
