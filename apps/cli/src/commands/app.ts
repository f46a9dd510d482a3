import type { Command } from 'commander'
import { examples } from '../examples.ts'
import { openShell } from '../shell.ts'
import { moment, table } from '../words.ts'

function showSecret(
  io: ReturnType<typeof openShell>['io'],
  made: { app_id: string; app_secret: string },
): void {
  io.record(made)
  io.say(`app_id      ${made.app_id}`)
  io.say(`app_secret  ${made.app_secret}`)
  io.note('Keep the secret: it is not shown again.')
}

export function addAppCommands(program: Command): void {
  const app = program.command('app').description('Applications, for the operator')
  app
    .command('create <name>')
    .description('Create an application; its secret is shown this once')
    .option('--package <name>', 'package name or bundle id of the mobile app')
    .addHelpText('after', examples('app create "My shop" --package com.example.shop'))
    .action(async (name: string, flags: { package?: string }, command: Command) => {
      const { io, asOperator } = openShell(command)
      const created = await asOperator((operator) =>
        operator.createApplication({ name, ...(flags.package && { package_name: flags.package }) }),
      )
      showSecret(io, created)
    })
  app
    .command('secret <app_id>')
    .description('Give an application a new secret; the old one and all that was opened with it end')
    .addHelpText('after', examples('app secret 3f2a'))
    .action(async (appId: string, _flags: object, command: Command) => {
      const { io, asOperator } = openShell(command)
      showSecret(io, await asOperator((operator) => operator.renewSecret(appId)))
    })
  app
    .command('list')
    .description('All applications')
    .addHelpText(
      'after',
      examples('app list', 'app list --operator-key "$KEY" --url https://push.example.com'),
    )
    .action(async (_flags: object, command: Command) => {
      const { io, asOperator } = openShell(command)
      const found = await asOperator((operator) => operator.applications())
      for (const one of found) io.record(one)
      const rows = found.map((one) => [one.app_id, one.name, one.package_name || '-', moment(one.created_at)])
      io.say(
        found.length === 0
          ? 'There is no application.'
          : table(['app_id', 'name', 'package', 'created'], rows),
      )
    })

  program
    .command('admin')
    .description('What an admin of an application needs')
    .command('token')
    .description('An admin token, fetched with the application’s secret; send it as the header access-token')
    .addHelpText('after', examples('admin token', 'admin token --app 3f2a --secret "$SECRET"'))
    .action(async (_flags: object, command: Command) => {
      const { io, asAdmin, place } = openShell(command)
      const { token, expire } = await asAdmin((server) => server.loginAdmin(place.appSecret!))
      io.record({ token, expire })
      // The token alone, so that a shell can take it.
      io.say(token)
      io.note(`Good until ${moment(expire)}.`)
    })
}
