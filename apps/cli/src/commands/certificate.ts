import type { CertificateView, HeraldServer } from '@herald/client'
import { channelOfPublicName, publicName, type VendorChannel, vendorChannels } from '@herald/domain'
import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import { type Environment, recordOf, type SetFlags } from '../certificate-record.ts'
import { examples } from '../examples.ts'
import { CliFailure, Unsatisfied } from '../failure.ts'
import type { Io } from '../io.ts'
import { openShell } from '../shell.ts'
import { providerNumber, vendors } from '../vendor-fields.ts'
import { moment, table } from '../words.ts'

const environment = () =>
  new Option('--environment <name>', 'which devices it is for')
    .choices(['production', 'development'])
    .default('production')

export function addCertificateCommands(program: Command): void {
  const certificate = program.command('certificate').description('Credentials of the vendors')
  const set = certificate
    .command('set')
    .description('Save the credentials of a vendor; set <vendor> --help names its flags')
    .addHelpText('after', examples('certificate set fcm --service-account service-account.json --check'))
  for (const vendor of vendorChannels) addSet(set, vendor)
  addCheck(certificate)
  certificate
    .command('list')
    .description('All certificates of the application, secrets masked')
    .addHelpText('after', examples('certificate list', 'certificate list --json'))
    .action(async (_flags: object, command: Command) => {
      const { io, asAdmin } = openShell(command)
      const found = await asAdmin((server) => server.certificates())
      for (const one of found) io.record(one)
      if (found.length === 0) io.say('There is no certificate.')
      else showList(io, found)
    })
}

function addSet(set: Command, vendor: VendorChannel): void {
  const { title, fields, examples: lines } = vendors[vendor]
  const command = set.command(vendor).description(`Save the credentials of ${title}`)
  // As answers name it.
  if (publicName(vendor) !== vendor) command.alias(publicName(vendor))
  for (const { flag, field, about, secret, file } of fields) {
    command.option(`--${flag} <${file ? 'file' : 'text'}>`, `${about} (${field})`)
    if (secret) command.option(`--${flag}-file <file>`, `a file that holds it`)
  }
  command
    .option('--name <text>', 'a name for people')
    .addOption(environment())
    .option('--extra <json>', 'further fields as a JSON object, or @file')
    .option('--check', 'ask the vendor afterwards whether they are good')
    .addHelpText('after', examples(...lines))
    .action(async (flags: SetFlags) => {
      const { io, asAdmin } = openShell(command)
      const record = recordOf(vendor, flags)
      await asAdmin(async (server) => {
        const saved = await server.putCertificate(record)
        const answer = flags.check && (await server.checkCertificate(record.provider, record.environment))
        io.record({ ...saved, ...(answer && { check: answer }) })
        io.say(`The ${flags.environment} certificate of ${title} is saved.`)
        if (saved.expires_at) io.say(`It expires on ${moment(saved.expires_at)}.`)
        if (saved.callback_url) io.say(`Receipts come to ${saved.callback_url}`)
        if (answer) judge(io, title, answer)
      })
    })
}

function addCheck(certificate: Command): void {
  certificate
    .command('check')
    .description('Ask vendors whether the credentials are good; a good answer opens a closed channel')
    .addArgument(new Argument('[vendor]', 'all that are saved when left out').argParser(readVendor))
    .addOption(environment())
    .addHelpText('after', examples('certificate check', 'certificate check apns --environment development'))
    .action(
      async (vendor: VendorChannel | undefined, flags: { environment: Environment }, command: Command) => {
        const { io, asAdmin } = openShell(command)
        await asAdmin(async (server) => {
          const places = vendor
            ? [{ vendor, environment: flags.environment === 'development' ? (0 as const) : (1 as const) }]
            : await savedPlaces(server)
          if (places.length === 0) throw new CliFailure('There is no certificate to check.')
          let good = true
          for (const { vendor, environment } of places) {
            const answer = await server.checkCertificate(providerNumber(vendor), environment)
            io.record({ vendor, environment, ...answer })
            good =
              tell(io, `${vendors[vendor].title}, ${environment ? 'production' : 'development'}`, answer) &&
              good
          }
          if (!good) throw new Unsatisfied()
        })
      },
    )
}

/** By its own name or the one that answers have for it. */
function readVendor(name: string): VendorChannel {
  const vendor = vendorChannels.find((one) => one === name || publicName(one) === name)
  if (!vendor) throw new InvalidArgumentError(`Vendors are ${vendorChannels.join(', ')}.`)
  return vendor
}

async function savedPlaces(server: HeraldServer) {
  const found = await server.certificates()
  return found.map(({ channel, environment }) => ({
    vendor: channelOfPublicName(channel) as VendorChannel,
    environment,
  }))
}

type Answer = { ok: boolean; problem: string | null; temporary: boolean }

function tell(io: Io, title: string, { ok, problem, temporary }: Answer): boolean {
  if (ok) io.say(`${io.paint('green', 'ok')}    ${title}`)
  else if (temporary)
    io.say(`${io.paint('yellow', '?')}     ${title}: ${problem} (it may be good; try again)`)
  else io.say(`${io.paint('red', 'bad')}   ${title}: ${problem}`)
  return ok
}

function judge(io: Io, title: string, answer: Answer): void {
  if (!tell(io, title, answer)) throw new Unsatisfied()
}

function showList(io: Io, found: CertificateView[]): void {
  const rows = found.map((one) => [
    one.channel,
    one.environment ? 'production' : 'development',
    one.name || '-',
    one.app_id || '-',
    one.state,
    one.expires_at ? moment(one.expires_at).slice(0, 10) : '-',
  ])
  io.say(table(['channel', 'environment', 'name', 'app_id', 'state', 'expires'], rows))
  for (const one of found) {
    if (one.callback_url) io.say(`${one.channel}: receipts come to ${one.callback_url}`)
    if (one.last_error) io.say(`${io.paint('red', one.channel)}: ${one.last_error}`)
    for (const warning of one.warnings) io.say(`${io.paint('yellow', one.channel)}: ${warning}`)
  }
}
