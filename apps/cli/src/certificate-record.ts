import type { NewCertificate } from '@herald/client'
import type { VendorChannel } from '@herald/domain'
import { CliFailure, UsageFailure } from './failure.ts'
import { readObject } from './parse.ts'
import { readNamed } from './shell.ts'
import { providerNumber, type VendorField, vendors } from './vendor-fields.ts'

export type Environment = 'production' | 'development'
export type SetFlags = Record<string, string | undefined> & {
  environment: Environment
  name?: string
  extra?: string
  check?: true
}

/** Flags in the words of the vendor become the five fields of the record. */
export function recordOf(vendor: VendorChannel, flags: SetFlags): NewCertificate {
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
