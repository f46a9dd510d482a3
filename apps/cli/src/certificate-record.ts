import type { CertificateView, NewCertificate } from '@herald/client'
import { type Environment, environmentNumber, regionOfExtra, type VendorChannel } from '@herald/domain'
import { CliFailure, UsageFailure } from './failure.ts'
import { readObject } from './parse.ts'
import { readNamed, readSecret, readText } from './shell.ts'
import { providerNumber, type VendorField, vendors } from './vendor-fields.ts'

export type SetFlags = Record<string, string | undefined> & {
  environment: Environment
  region?: string
  name?: string
  extra?: string
  check?: true
}

/** Maps flags with the vendor's names to the five fields of the record. */
export function recordOf(vendor: VendorChannel, flags: SetFlags): NewCertificate {
  const record: NewCertificate = {
    provider: providerNumber(vendor),
    environment: environmentNumber(flags.environment),
    name: flags.name,
    check: flags.check,
    extra:
      flags.extra === undefined && flags.region === undefined
        ? undefined
        : { ...extraOf(flags.extra ?? '{}'), ...(flags.region !== undefined && { region: flags.region }) },
  }
  const from: Partial<Record<VendorField['field'], string>> = {}
  for (const field of vendors[vendor].fields) {
    const value = fieldValue(field, flags)
    if (value === undefined) continue
    if (from[field.field])
      throw new UsageFailure(`--${from[field.field]} and --${field.flag} cannot be used together.`)
    from[field.field] = field.flag
    record[field.field] = value
  }
  if (Object.keys(from).length === 0)
    throw new UsageFailure(
      `No credentials given; use ${vendors[vendor].fields.map(({ flag }) => `--${flag}`).join(', ')}.`,
    )
  return record
}

/** The API shows secrets of `extra` as these and their last characters. */
const MASK = '****'

/**
 * Takes the name and `extra` from the saved record of the same place if their flags are absent, because saving replaces the whole record.
 * Secrets of `extra` are kept by name. Pure.
 */
export function withSaved(
  vendor: VendorChannel,
  record: NewCertificate,
  flags: { extra?: string },
  certificates: readonly CertificateView[],
): NewCertificate {
  const region = regionOfExtra(vendor, record.extra ?? {}) ?? null
  const saved = certificates.find(
    (one) =>
      one.provider === record.provider && one.environment === record.environment && one.region === region,
  )
  if (!saved) return record
  const named = { ...record, name: record.name ?? saved.name }
  if (flags.extra !== undefined) return named
  const isMasked = (value: unknown) => typeof value === 'string' && value.startsWith(MASK)
  const entries = Object.entries(saved.extra)
  return {
    ...named,
    extra: { ...Object.fromEntries(entries.filter(([, value]) => !isMasked(value))), ...record.extra },
    keep: entries.filter(([, value]) => isMasked(value)).map(([key]) => `extra.${key}`),
  }
}

function fieldValue({ flag, secret, file }: VendorField, flags: SetFlags): string | undefined {
  const given = flags[camel(flag)]
  if (!file) return readSecret(flag, given, secret && flags[camel(`${flag}-file`)])
  if (given === undefined) return undefined
  return readNamed(given, `--${flag}`).toString(file === 'text' ? 'utf8' : 'base64')
}

const camel = (flag: string) => flag.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

function extraOf(text: string): Record<string, unknown> {
  try {
    return readObject(text.startsWith('@') ? readText(text.slice(1), '--extra') : text)
  } catch (error) {
    if (error instanceof CliFailure) throw error
    throw new UsageFailure(`--extra: ${(error as Error).message}`)
  }
}
