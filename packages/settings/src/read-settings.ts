import { readFileSync } from 'node:fs'
import { type Setting, SettingsError } from './kinds.ts'
import {
  allSettings,
  type Settings,
  settingsTable,
  type VendorUrls,
  vendorUrlTable,
} from './settings-table.ts'

export type ReadResult = {
  settings: Settings
  /** One sentence for each unknown HERALD_* variable, which is probably a typing error. */
  warnings: string[]
}

type Environment = Readonly<Record<string, string | undefined>>
type ReadFile = (path: string) => string

/** Reads no state except the files that variables name. Blank means not set. Throws SettingsError. */
export function readSettings(
  env: Environment,
  readFile: ReadFile = (path) => readFileSync(path, 'utf8'),
): ReadResult {
  const read = (table: Record<string, Setting<unknown>>) =>
    Object.fromEntries(Object.entries(table).map(([key, setting]) => [key, readOne(setting, env, readFile)]))
  const values = read(settingsTable) as Omit<Settings, 'vendorUrls' | 'givenVendorUrls' | 'vendorCa'>
  const vendorCa =
    values.vendorCaFile && readNamedFile(settingsTable.vendorCaFile.name, values.vendorCaFile, readFile)
  const givenVendorUrls = Object.entries(vendorUrlTable).flatMap(([key, { name }]) =>
    env[name]?.trim() ? [key as keyof VendorUrls] : [],
  )
  const vendorUrls = read(vendorUrlTable) as VendorUrls
  const settings = { ...values, vendorUrls, givenVendorUrls, vendorCa }
  return { settings, warnings: findUnknown(env) }
}

export type Inspection = ReadResult & {
  /** One sentence for each wrong variable; the settings are read without these variables. */
  problems: string[]
}

/** Reports every problem; readSettings stops at the first. */
export function inspectSettings(env: Environment, readFile?: ReadFile): Inspection {
  const left = { ...env }
  const problems: string[] = []
  for (;;) {
    try {
      return { ...readSettings(left, readFile), problems }
    } catch (error) {
      // Every sentence begins with the name of its variable.
      const name = error instanceof SettingsError ? nameIn(error.message) : undefined
      if (name === undefined || !(name in left || `${name}_FILE` in left)) throw error
      problems.push((error as Error).message)
      delete left[name]
      delete left[`${name}_FILE`]
    }
  }
}

const nameIn = (sentence: string) => /^[A-Z_]+/.exec(sentence)?.[0].replace(/_FILE$/, '')

function readOne(setting: Setting<unknown>, env: Environment, readFile: ReadFile): unknown {
  const value = rawValue(setting, env, readFile)
  if (value === '') return setting.fallback
  try {
    return setting.parse(value)
  } catch (error) {
    const shown = setting.secret ? '' : `, not ${JSON.stringify(value)}`
    throw new SettingsError(`${setting.name} ${(error as Error).message}${shown}.`)
  }
}

function rawValue({ name, secret }: Setting<unknown>, env: Environment, readFile: ReadFile): string {
  const value = env[name]?.trim() ?? ''
  const file = secret ? (env[`${name}_FILE`]?.trim() ?? '') : ''
  if (file === '') return value
  if (value !== '') throw new SettingsError(`${name} and ${name}_FILE are both set; remove one of them.`)
  return readNamedFile(`${name}_FILE`, file, readFile).trim()
}

function readNamedFile(name: string, path: string, readFile: ReadFile): string {
  try {
    return readFile(path)
  } catch (error) {
    throw new SettingsError(
      `${name} names the file ${path}, which cannot be read (${(error as NodeJS.ErrnoException).code}).`,
    )
  }
}

function findUnknown(env: Environment): string[] {
  const known = new Set(allSettings.flatMap(({ name, secret }) => (secret ? [name, `${name}_FILE`] : [name])))
  return Object.keys(env)
    .filter((name) => name.startsWith('HERALD_') && !known.has(name))
    .sort()
    .map((name) => `${name} is set, but Herald has no such setting.`)
}
