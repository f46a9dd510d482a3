import type { SettingsChange, Strategy } from '@herald/client'
import { strategies } from '@herald/domain'
import type { Command } from 'commander'
import { examples } from '../examples.ts'
import { UsageFailure } from '../failure.ts'
import { duration, table, timestamp } from '../format.ts'
import { oneOf, orDefault, readSwitch, seconds, wholeNumber } from '../parse.ts'
import { openShell } from '../shell.ts'

const MAX_TTL = 2_592_000

type SettingsFlags = {
  defaultStrategy?: Strategy | null
  defaultTtl?: number | null
  register?: boolean | null
  registerPerDay?: number | null
  perDevicePerDay?: number | null
}

/** Only the settings that have a flag. */
function changeOf(flags: SettingsFlags): SettingsChange {
  return {
    ...(flags.defaultStrategy !== undefined && { default_strategy: flags.defaultStrategy }),
    ...(flags.defaultTtl !== undefined && { default_ttl: flags.defaultTtl }),
    ...(flags.register !== undefined && { register: flags.register }),
    ...(flags.registerPerDay !== undefined && { register_per_day: flags.registerPerDay }),
    ...(flags.perDevicePerDay !== undefined && { caps: { per_device_per_day: flags.perDevicePerDay } }),
  }
}

function showSecret(
  io: ReturnType<typeof openShell>['io'],
  created: { app_id: string; app_secret: string },
): void {
  io.record(created)
  io.say(`app_id      ${created.app_id}`)
  io.say(`app_secret  ${created.app_secret}`)
  io.note('Store the secret: it is not shown again.')
}

export function addAppCommands(program: Command): void {
  const app = program.command('app').description('Manage applications (operator)')
  app
    .command('create <name>')
    .description('Create an application; its secret is shown only once')
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
    .command('rename <app_id>')
    .description('Change the name or the package name of an application')
    .option('--name <name>', 'new name')
    .option('--package <name>', 'package name or bundle id of the mobile app')
    .addHelpText('after', examples('app rename 3f2a --name "My store"'))
    .action(async (appId: string, flags: { name?: string; package?: string }, command: Command) => {
      const { io, asOperator } = openShell(command)
      const change = {
        ...(flags.name !== undefined && { name: flags.name }),
        ...(flags.package !== undefined && { package_name: flags.package }),
      }
      if (Object.keys(change).length === 0) throw new UsageFailure('Give --name, --package or both.')
      io.record(await asOperator((operator) => operator.changeApplication(appId, change)))
      io.say('The application was changed.')
    })
  app
    .command('secret <app_id>')
    .description(
      'Rotate an application’s secret; revokes its admin tokens and console sessions, and the old secret',
    )
    .option(
      '--keep-old <duration>',
      'how long the old secret stays valid too, at most 1d (default: it ends at once)',
      seconds(0, 86_400),
    )
    .addHelpText('after', examples('app secret 3f2a --keep-old 1h', 'app secret 3f2a'))
    .action(async (appId: string, flags: { keepOld?: number }, command: Command) => {
      const { io, asOperator } = openShell(command)
      const { keepOld } = flags
      showSecret(io, await asOperator((operator) => operator.renewSecret(appId, { keepOldSeconds: keepOld })))
      if (keepOld) io.note(`The old secret is valid for ${duration(keepOld)} more.`)
    })
  app
    .command('list')
    .description('List all applications')
    .addHelpText(
      'after',
      examples('app list', 'app list --operator-key-file operator-key.txt --url https://push.example.com'),
    )
    .action(async (_flags: object, command: Command) => {
      const { io, asOperator } = openShell(command)
      const found = await asOperator((operator) => operator.applications())
      for (const one of found) io.record(one)
      const rows = found.map((one) => [
        one.app_id,
        one.name,
        one.package_name || '-',
        timestamp(one.created_at),
      ])
      io.say(
        found.length === 0
          ? 'There are no applications.'
          : table(['app_id', 'name', 'package', 'created'], rows),
      )
    })

  app
    .command('settings')
    .description('Show or change the settings of an application (admin)')
    .option('--default-strategy <name>', 'strategy of pushes that name none', orDefault(oneOf(...strategies)))
    .option('--default-ttl <duration>', 'ttl of pushes that name none', orDefault(seconds(0, MAX_TTL)))
    .option('--register <on|off>', 'whether devices may register without a user', orDefault(readSwitch))
    .option(
      '--register-per-day <n>',
      'maximum number of such registrations per day',
      orDefault(wholeNumber(0)),
    )
    .option(
      '--per-device-per-day <n>',
      'marketing messages per device, channel and day, 0 for no limit (default: the number of each vendor)',
      orDefault(wholeNumber(0, 255)),
    )
    .addHelpText(
      'after',
      `
The value default restores the default of a setting.
${examples('app settings', 'app settings --default-strategy ospush_only', 'app settings --register on --register-per-day 5000')}`,
    )
    .action(async (flags: SettingsFlags, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const change = changeOf(flags)
      const settings = await asAdmin((server) =>
        Object.keys(change).length > 0 ? server.changeSettings(change) : server.settings(),
      )
      io.record(settings)
      io.say(`default_strategy    ${settings.default_strategy}`)
      io.say(`default_ttl         ${settings.default_ttl}`)
      io.say(`register            ${settings.register ? 'on' : 'off'}`)
      io.say(`register_per_day    ${settings.register_per_day}`)
      io.say(`per_device_per_day  ${settings.caps.per_device_per_day ?? 'by vendor'}`)
    })

  program
    .command('admin')
    .description('Admin tokens')
    .command('token')
    .description('Get an admin token with the application’s secret; send it in the header access-token')
    .addHelpText('after', examples('admin token', 'admin token --app 3f2a --secret-file secret.txt'))
    .action(async (_flags: object, command: Command) => {
      const { io, asAdmin, access } = openShell(command)
      const { token, expire } = await asAdmin((server) => server.loginAdmin(access.appSecret!))
      io.record({ token, expire })
      // Only the token, so that a shell can capture it.
      io.say(token)
      io.note(`Valid until ${timestamp(expire)}.`)
    })
}
