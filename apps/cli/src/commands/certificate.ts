import type { CertificateView, HeraldServer } from '@herald/client'
import { channelOfPublicName, publicName, type VendorChannel, vendorChannels } from '@herald/domain'
import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import { type Environment, recordOf, type SetFlags } from '../certificate-record.ts'
import { examples } from '../examples.ts'
import { CliFailure, SilentFailure } from '../failure.ts'
import { table, timestamp } from '../format.ts'
import type { Io } from '../io.ts'
import { openShell } from '../shell.ts'
import { providerNumber, vendors } from '../vendor-fields.ts'

const environment = () =>
  new Option('--environment <name>', 'environment of the devices')
    .choices(['production', 'development'])
    .default('production')

export function addCertificateCommands(program: Command): void {
  const certificate = program.command('certificate').description('Vendor credentials')
  const set = certificate
    .command('set')
    .description('Save the credentials of a vendor; see set <vendor> --help for its flags')
    .addHelpText('after', examples(`${vendors[vendorChannels[0]!].examples[0]} --check`))
  for (const vendor of vendorChannels) addSet(set, vendor)
  addCheck(certificate)
  certificate
    .command('list')
    .description('List the certificates of the application, with secrets masked')
    .addHelpText('after', examples('certificate list', 'certificate list --json'))
    .action(async (_flags: object, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const found = await asAdmin((server) => server.certificates())
      for (const one of found) io.record(one)
      if (found.length === 0) io.say('There are no certificates.')
      else showList(io, found)
    })
}

function addSet(set: Command, vendor: VendorChannel): void {
  const { title, fields, examples: lines } = vendors[vendor]
  const command = set.command(vendor).description(`Save the credentials of ${title}`)
  // The name in API responses.
  if (publicName(vendor) !== vendor) command.alias(publicName(vendor))
  for (const { flag, field, about, secret, file } of fields) {
    command.option(`--${flag} <${file ? 'file' : 'text'}>`, `${about} (${field})`)
    if (secret) command.option(`--${flag}-file <file>`, 'file that contains it')
  }
  command
    .option('--name <text>', 'display name')
    .addOption(environment())
    .option('--extra <json>', 'additional fields as a JSON object, or @file')
    .option('--check', 'verify the credentials with the vendor afterwards')
    .addHelpText('after', examples(...lines))
    .action(async (flags: SetFlags) => {
      const { io, asAdmin } = openShell(command)
      const record = recordOf(vendor, flags)
      await asAdmin(async (server) => {
        const saved = await server.putCertificate(record)
        const check = flags.check && (await server.checkCertificate(record.provider, record.environment))
        io.record({ ...saved, ...(check && { check }) })
        io.say(`The ${flags.environment} certificate of ${title} is saved.`)
        if (saved.expires_at) io.say(`It expires on ${timestamp(saved.expires_at)}.`)
        if (saved.callback_url) io.say(`Receipt URL: ${saved.callback_url}`)
        if (check && !printCheck(io, title, check)) throw new SilentFailure()
      })
    })
}

function addCheck(certificate: Command): void {
  certificate
    .command('check')
    .description('Verify credentials with the vendors; success reopens a closed certificate')
    .addArgument(new Argument('[vendor]', 'default: all saved certificates').argParser(readVendor))
    .addOption(environment())
    .addHelpText(
      'after',
      examples('certificate check', `certificate check ${vendorChannels[0]} --environment development`),
    )
    .action(
      async (vendor: VendorChannel | undefined, flags: { environment: Environment }, command: Command) => {
        const { io, asAdmin } = openShell(command)
        await asAdmin(async (server) => {
          const certificates = vendor
            ? [{ vendor, environment: flags.environment === 'development' ? (0 as const) : (1 as const) }]
            : await savedCertificates(server)
          if (certificates.length === 0) throw new CliFailure('There is no certificate to check.')
          let ok = true
          for (const { vendor, environment } of certificates) {
            const check = await server.checkCertificate(providerNumber(vendor), environment)
            io.record({ vendor, environment, ...check })
            const title = `${vendors[vendor].title}, ${environment ? 'production' : 'development'}`
            ok = printCheck(io, title, check) && ok
          }
          if (!ok) throw new SilentFailure()
        })
      },
    )
}

/** Accepts the channel name and the name in API responses. */
function readVendor(name: string): VendorChannel {
  const vendor = vendorChannels.find((one) => one === name || publicName(one) === name)
  if (!vendor) throw new InvalidArgumentError(`Vendors are ${vendorChannels.join(', ')}.`)
  return vendor
}

async function savedCertificates(server: HeraldServer) {
  const found = await server.certificates()
  return found.map(({ channel, environment }) => ({
    vendor: channelOfPublicName(channel) as VendorChannel,
    environment,
  }))
}

type Check = { ok: boolean; problem: string | null; temporary: boolean }

function printCheck(io: Io, title: string, { ok, problem, temporary }: Check): boolean {
  if (ok) io.say(`${io.paint('green', 'ok')}    ${title}`)
  else if (temporary) io.say(`${io.paint('yellow', '?')}     ${title}: ${problem} (temporary; try again)`)
  else io.say(`${io.paint('red', 'bad')}   ${title}: ${problem}`)
  return ok
}

function showList(io: Io, found: CertificateView[]): void {
  const rows = found.map((one) => [
    one.channel,
    one.environment ? 'production' : 'development',
    one.name || '-',
    one.app_id || '-',
    one.state,
    one.expires_at ? timestamp(one.expires_at).slice(0, 10) : '-',
  ])
  io.say(table(['channel', 'environment', 'name', 'app_id', 'state', 'expires'], rows))
  for (const one of found) {
    if (one.callback_url) io.say(`${one.channel}: receipt URL ${one.callback_url}`)
    if (one.last_error) io.say(`${io.paint('red', one.channel)}: ${one.last_error}`)
    for (const warning of one.warnings) io.say(`${io.paint('yellow', one.channel)}: ${warning}`)
  }
}
