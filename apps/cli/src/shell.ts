import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { HeraldOperator, HeraldServer } from '@herald/client'
import type { Database } from '@herald/db/store'
import { findRunning } from '@herald/embedded'
import { callerDirectory, loadSettings, readDemo, type Settings } from '@herald/settings'
import type { Command } from 'commander'
import { type Access, type AccessFlags, findAccess } from './access.ts'
import { CliFailure, isUnanswered, reasonOf, UsageFailure } from './failure.ts'
import { type Io, openIo } from './io.ts'

export type GlobalFlags = AccessFlags & {
  secretFile?: string
  operatorKeyFile?: string
  dataDir?: string
  json?: boolean
}

/** The context of a command. */
export type Shell = {
  io: Io
  settings: Settings
  dataDir: string
  access: Access
  /** Calls Herald as the application; network errors name the server. */
  asAdmin<T>(work: (server: HeraldServer) => Promise<T>): Promise<T>
  asOperator<T>(work: (operator: HeraldOperator) => Promise<T>): Promise<T>
  /** DATABASE_URL, or the Postgres of the standalone; fails with a sentence if there is neither. */
  databaseUrl(): string
  /** Opens the database, for data that the HTTP interface does not show. */
  withDatabase<T>(work: (db: Database) => Promise<T>): Promise<T>
}

export function openShell(command: Command): Shell {
  const flags = command.optsWithGlobals<GlobalFlags>()
  const io = openIo(Boolean(flags.json))
  const { settings } = loadSettings()
  const { dataDir, access } = locate(flags, settings)
  return {
    io,
    settings,
    dataDir,
    access,
    async asAdmin(work) {
      const { baseUrl, appId, appSecret } = access
      if (!appId || !appSecret) throw new CliFailure(missing(access, dataDir))
      return explained(baseUrl, () => work(new HeraldServer({ baseUrl, appId, appSecret })))
    },
    async asOperator(work) {
      const { baseUrl, operatorKey } = access
      if (!operatorKey)
        throw new CliFailure(
          `The operator key is missing: use --operator-key-file, set HERALD_OPERATOR_KEY, or run npm start and use its key, which was looked for in ${dataDir}.`,
        )
      return explained(baseUrl, () => work(new HeraldOperator({ baseUrl, operatorKey })))
    },
    databaseUrl: () => databaseUrlOf(settings, dataDir),
    withDatabase: (work) => withDatabase(databaseUrlOf(settings, dataDir), work),
  }
}

/** The data directory, the demo that a standalone wrote there, and the server and credentials to use. */
export function locate(flags: GlobalFlags, settings: Settings) {
  if (flags.url !== undefined && !/^https?:\/\/[^\s/]/.test(flags.url))
    throw new UsageFailure('--url must be a URL that begins with http:// or https://.')
  const dataDir = flags.dataDir ? fromCaller(flags.dataDir) : resolve(settings.dataDir)
  const demo = readDemo(dataDir)
  const credentials = {
    secret: readSecret('secret', flags.secret, flags.secretFile),
    operatorKey: readSecret('operator-key', flags.operatorKey, flags.operatorKeyFile),
  }
  return { dataDir, demo, access: findAccess({ ...flags, ...credentials }, settings, demo) }
}

function missing({ appId }: Access, dataDir: string): string {
  const what = appId ? `The secret of the application ${appId} is missing` : 'The application is missing'
  return `${what}: use --app and --secret-file, set HERALD_APP_ID and HERALD_APP_SECRET, or run npm start and use its demo. Its keys were looked for in ${dataDir}: HERALD_DATA_DIR or --data-dir names another folder.`
}

/** Replaces network errors by a sentence with the server and what to do. */
async function explained<T>(baseUrl: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isUnanswered(error)) throw error
    if (error.name === 'TimeoutError')
      throw new CliFailure(`Herald at ${baseUrl} did not respond in time.`, { cause: error })
    throw new CliFailure(
      `Herald at ${baseUrl} cannot be reached (${reasonOf(error)}): run npm start, or set another URL with --url or HERALD_URL.`,
      { cause: error },
    )
  }
}

/** The Postgres of a standalone that is running in the data directory. */
export const findOwnPostgres = (dataDir: string): string | undefined => findRunning(join(dataDir, 'postgres'))

function databaseUrlOf({ databaseUrl }: Settings, dataDir: string): string {
  const url = databaseUrl ?? findOwnPostgres(dataDir)
  if (url === undefined)
    throw new CliFailure(
      `DATABASE_URL is not set and no standalone with a Postgres of its own is running in ${dataDir}: set it as for the programs, or run npm start.`,
    )
  return url
}

export async function withDatabase<T>(url: string, work: (db: Database) => Promise<T>): Promise<T> {
  // Loaded here because most commands only use HTTP and should not wait for Prisma.
  const { openDatabase } = await import('@herald/db/store')
  const db = openDatabase(url, { max: 1, prepare: false, name: 'herald cli' })
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

/** Resolves a path against the user's working directory: npm runs scripts in another one. */
export const fromCaller = (path: string): string => resolve(callerDirectory(), path)

/** The value of the flag `--<flag>`, or the content of the file given by `--<flag>-file`. */
export function readSecret(flag: string, given?: string, path?: string): string | undefined {
  if (path === undefined) return given
  if (given !== undefined) throw new UsageFailure(`--${flag} and --${flag}-file cannot be used together.`)
  const text = readNamed(path, `--${flag}-file`).toString('utf8').trim()
  if (text === '') throw new CliFailure(`--${flag}-file: ${path} is empty.`)
  return text
}

/** Reads the file given by a flag; `-` is stdin. */
export function readNamed(path: string, flag: string): Buffer {
  try {
    return readFileSync(path === '-' ? 0 : fromCaller(path))
  } catch (error) {
    throw new CliFailure(`${flag}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`)
  }
}

/** The same as text without a byte order mark. Decoding would replace what is not UTF-8, so it is refused. */
export function readText(path: string, flag: string): string {
  const bytes = readNamed(path, flag)
  if (!isUtf8(bytes)) throw new CliFailure(`${flag}: ${path} is not valid UTF-8.`)
  return bytes.toString('utf8').replace(/^\uFEFF/, '')
}
