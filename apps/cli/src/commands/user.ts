import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import { examples } from '../examples.ts'
import { UsageFailure } from '../failure.ts'
import { openShell, readNamed } from '../shell.ts'

type Flags = { password?: string; passwordStdin?: boolean; mobile?: string; email?: string }

export function addUserCommands(program: Command): void {
  program
    .command('user')
    .description('Users of the application')
    .command('add <username>')
    .description('Create a user who can log in')
    .option('--password <text>', 'password (default: a generated one, which is printed)')
    .option('--password-stdin', 'read the password from stdin, so that it is not in the process list')
    .option('--mobile <number>', 'mobile number, also a login name')
    .option('--email <address>', 'email address, also a login name')
    .addHelpText(
      'after',
      examples('user add alice --email alice@example.com', 'user add bob --password-stdin < password.txt'),
    )
    .action(async (username: string, flags: Flags, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const { mobile, email } = flags
      const given = passwordOf(flags)
      const password = given ?? randomBytes(12).toString('base64url')
      const { user_id } = await asAdmin((server) => server.createUser({ username, password, mobile, email }))
      const generated = given === undefined ? { password } : {}
      io.record({ user_id, username, ...generated })
      io.say(`user_id   ${user_id}`)
      if (generated.password) io.say(`password  ${generated.password}`)
    })
}

function passwordOf(flags: Flags): string | undefined {
  if (!flags.passwordStdin) return flags.password
  if (flags.password !== undefined)
    throw new UsageFailure('--password and --password-stdin cannot be used together.')
  const text = readNamed('-', '--password-stdin')
    .toString('utf8')
    .replace(/\r?\n$/, '')
  if (text === '') throw new UsageFailure('--password-stdin: stdin is empty.')
  return text
}
