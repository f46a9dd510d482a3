import type { CertificateCheck, CertificateView, HeraldServer } from '@herald/client'
import {
  type CertificateCondition,
  cardOf,
  channelOfPublicName,
  conditionOf,
  type Environment,
  environmentNumber,
  environmentOf,
  publicName,
  regionNames,
  type VendorChannel,
  vendorChannels,
} from '@herald/domain'
import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import { recordOf, type SetFlags, withSaved } from '../certificate-record.ts'
import { examples } from '../examples.ts'
import { CliFailure, SilentFailure } from '../failure.ts'
import { plural, table, timestamp } from '../format.ts'
import type { Io } from '../io.ts'
import { openShell } from '../shell.ts'
import { providerNumber, vendors } from '../vendor-fields.ts'

const environment = () =>
  new Option('--environment <name>', 'environment of the devices')
    .choices(['production', 'development'])
    .default('production')

const region = (names: readonly string[]) =>
  new Option('--region <name>', 'region, for vendors with several (default: the usual one)').choices(names)

type PlaceFlags = { environment: Environment; region?: string }

export function addCertificateCommands(program: Command): void {
  const certificate = program.command('certificate').description('Vendor credentials')
  const set = certificate
    .command('set')
    .description('Save the credentials of a vendor; see set <vendor> --help for its flags')
    .addHelpText('after', examples(`${vendors[vendorChannels[0]!].examples[0]} --check`))
  for (const vendor of vendorChannels) addSet(set, vendor)
  addCheck(certificate)
  addRemove(certificate)
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
  const { regions } = cardOf(vendor)
  if (regions) command.addOption(region(regions))
  command
    .option('--name <text>', 'display name (default: the saved one)')
    .addOption(environment())
    .option(
      '--extra <json>',
      'all additional fields as a JSON object, or @file; {} removes them (default: the saved ones)',
    )
    .option('--check', 'ask the vendor first, and save nothing if it does not accept them')
    .addHelpText('after', examples(...lines))
    .action(async (flags: SetFlags) => {
      const { io, asAdmin } = openShell(command)
      const record = recordOf(vendor, flags)
      await asAdmin(async (server) => {
        const certificates = await server.certificates()
        const saved = await server.putCertificate(withSaved(vendor, record, flags, certificates))
        io.record(saved)
        const accepted = saved.check === null || printCheck(io, title, saved.check)
        if (!saved.saved) io.say('Nothing was saved.')
        if (!accepted) throw new SilentFailure()
        io.say(`The ${placeName(flags.environment, saved.region)} certificate of ${title} is saved.`)
        if (saved.expires_at) io.say(`It expires on ${timestamp(saved.expires_at)}.`)
        if (saved.callback_url) io.say(`Receipt URL: ${saved.callback_url}`)
        for (const warning of saved.warnings) io.say(`${io.paint('yellow', 'warning')}: ${warning}`)
      })
    })
}

function addCheck(certificate: Command): void {
  certificate
    .command('check')
    .description('Verify credentials with the vendors; success reopens a closed certificate')
    .addArgument(new Argument('[vendor]', 'default: all saved certificates').argParser(readVendor))
    .addOption(environment())
    .addOption(region(regionNames))
    .addHelpText(
      'after',
      examples('certificate check', `certificate check ${vendorChannels[0]} --environment development`),
    )
    .action(async (vendor: VendorChannel | undefined, flags: PlaceFlags, command: Command) => {
      const { io, asAdmin } = openShell(command)
      await asAdmin(async (server) => {
        const certificates = vendor ? [{ vendor, ...flags }] : await savedCertificates(server)
        if (certificates.length === 0) throw new CliFailure('There is no certificate to check.')
        let ok = true
        for (const { vendor, environment, region } of certificates) {
          const number = environmentNumber(environment)
          const check = await server.checkCertificate(providerNumber(vendor), number, region)
          io.record({ vendor, environment: number, region: region ?? null, ...check })
          ok = printCheck(io, `${vendors[vendor].title}, ${placeName(environment, region)}`, check) && ok
        }
        if (!ok) throw new SilentFailure()
      })
    })
}

function addRemove(certificate: Command): void {
  certificate
    .command('remove')
    .description(
      'Remove the certificate of a vendor; its devices are then reached through their other channels',
    )
    .addArgument(new Argument('<vendor>').argParser(readVendor))
    .addOption(environment())
    .addOption(region(regionNames))
    .addHelpText('after', examples(`certificate remove ${vendorChannels[0]} --environment development`))
    .action(async (vendor: VendorChannel, flags: PlaceFlags, command: Command) => {
      const { io, asAdmin } = openShell(command)
      await asAdmin((server) =>
        server.removeCertificate(providerNumber(vendor), environmentNumber(flags.environment), flags.region),
      )
      io.record({ removed: true })
      const name = placeName(flags.environment, flags.region)
      io.say(`The ${name} certificate of ${vendors[vendor].title} is removed.`)
    })
}

const placeName = (environment: Environment, region: string | null | undefined) =>
  region ? `${environment} (${region})` : environment

/** Accepts the channel name and the name in API responses. */
function readVendor(name: string): VendorChannel {
  const vendor = vendorChannels.find((one) => one === name || publicName(one) === name)
  if (!vendor) throw new InvalidArgumentError(`Vendors are ${vendorChannels.join(', ')}.`)
  return vendor
}

async function savedCertificates(server: HeraldServer): Promise<(PlaceFlags & { vendor: VendorChannel })[]> {
  const found = await server.certificates()
  return found.map(({ channel, environment, region }) => ({
    vendor: channelOfPublicName(channel) as VendorChannel,
    environment: environmentOf(environment),
    region: region ?? undefined,
  }))
}

function printCheck(io: Io, title: string, check: CertificateCheck): boolean {
  const { ok, problem, temporary, simulator, warnings } = check
  const name = simulator ? `${title} (answered by a simulator)` : title
  if (ok) io.say(`${io.paint('green', 'ok')}    ${name}`)
  else if (temporary) io.say(`${io.paint('yellow', '?')}     ${name}: ${problem} (temporary; try again)`)
  else io.say(`${io.paint('red', 'bad')}   ${name}: ${problem}`)
  for (const warning of warnings) io.say(`      ${io.paint('yellow', 'warning')}: ${warning}`)
  return ok
}

const conditions: Record<CertificateCondition, string> = {
  sending: 'working',
  unchecked: 'not checked',
  partial: 'part refused',
  silent: 'no answer',
  suspect: 'suspect',
  closed: 'refused',
}

function showList(io: Io, found: CertificateView[]): void {
  const rows = found.map((one) => [
    one.channel,
    environmentOf(one.environment),
    one.region ?? '-',
    one.name || '-',
    one.app_id || '-',
    conditions[conditionOf(one)],
    one.expires_at ? timestamp(one.expires_at).slice(0, 10) : '-',
  ])
  io.say(table(['channel', 'environment', 'region', 'name', 'app_id', 'state', 'expires'], rows))
  for (const one of found) {
    if (one.callback_url) io.say(`${one.channel}: receipt URL ${one.callback_url}`)
    if (one.last_error) io.say(`${io.paint('red', one.channel)}: ${one.last_error}${closedText(one)}`)
    for (const warning of one.warnings) io.say(`${io.paint('yellow', one.channel)}: ${warning}`)
  }
}

function closedText({ closed_at, next_probe_at, probes }: CertificateView): string {
  if (closed_at === null) return ''
  const next = next_probe_at === null ? '' : `, checked again at ${timestamp(next_probe_at)}`
  return ` (closed since ${timestamp(closed_at)}, ${plural(probes, 'failed probe')}${next})`
}
