import type { CertificateView, HeraldServer, NewCertificate } from '@herald/client'
import { channelOfPublicName, publicName, type VendorChannel, vendorChannels } from '@herald/domain'
import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import { examples } from '../examples.ts'
import { CliFailure, Unsatisfied, UsageFailure } from '../failure.ts'
import type { Io } from '../io.ts'
import { readObject } from '../parse.ts'
import { openShell, readNamed } from '../shell.ts'
import { providerNumber, type VendorField, vendors } from '../vendor-fields.ts'
import { moment, table } from '../words.ts'

type Environment = 'production' | 'development'
type SetFlags = Record<string, string | undefined> & {
  environment: Environment
  name?: string
  extra?: string
  check?: true
}

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

/** Flags in the words of the vendor become the five fields of the record. */
function recordOf(vendor: VendorChannel, flags: SetFlags): NewCertificate {
  const record: NewCertificate = {
    provider: providerNumber(vendor),
    environment: flags.environment === 'development' ? 0 : 1,
    name: flags.name,
    extra: flags.extra === undefined ? undefined : extraOf(flags.extra),
  }
  const from: Partial<Record<VendorField['field'], string>> = {}
  for (const field of vendors[vendor].fields) {
    const value = givenFor(field, flags)
    if (value === undefined) continue
    if (from[field.field])
      throw new UsageFailure(`--${from[field.field]} and --${field.flag} exclude each other.`)
    from[field.field] = field.flag
    record[field.field] = value
  }
  if (Object.keys(from).length === 0)
    throw new UsageFailure(
      `Nothing is given: ${vendors[vendor].fields.map(({ flag }) => `--${flag}`).join(', ')} say what the credentials are.`,
    )
  return record
}

function givenFor({ flag, secret, file }: VendorField, flags: SetFlags): string | undefined {
  const given = flags[camel(flag)]
  if (file) return given === undefined ? undefined : fileContent(given, `--${flag}`, file)
  const path = secret ? flags[camel(`${flag}-file`)] : undefined
  if (path === undefined) return given
  if (given !== undefined) throw new UsageFailure(`--${flag} and --${flag}-file exclude each other.`)
  return fileContent(path, `--${flag}-file`, 'text').trim()
}

const fileContent = (path: string, flag: string, content: 'text' | 'base64') =>
  readNamed(path, flag).toString(content === 'text' ? 'utf8' : 'base64')

const camel = (flag: string) => flag.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

function extraOf(text: string): Record<string, unknown> {
  try {
    return readObject(text.startsWith('@') ? readNamed(text.slice(1), '--extra').toString('utf8') : text)
  } catch (error) {
    if (error instanceof CliFailure) throw error
    throw new UsageFailure(`--extra: ${(error as Error).message}`)
  }
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
