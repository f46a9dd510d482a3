import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { HeraldOperator, HeraldServer } from '@herald/client'
import type { Database } from '@herald/db/store'
import { callerDirectory, loadSettings, type Settings } from '@herald/settings'
import type { Command } from 'commander'
import { findOwnPostgres, readDemo } from './data-directory.ts'
import { CliFailure, isUnanswered, reasonOf, UsageFailure } from './failure.ts'
import { type Io, openIo } from './io.ts'
import { findPlace, type Place, type PlaceFlags } from './place.ts'

export type GlobalFlags = PlaceFlags & { dataDir?: string; json?: boolean }

/** What every command is given. */
export type Shell = {
  io: Io
  settings: Settings
  dataDir: string
  place: Place
  /** Calls Herald for the application; a failure names the server. */
  asAdmin<T>(work: (server: HeraldServer) => Promise<T>): Promise<T>
  asOperator<T>(work: (operator: HeraldOperator) => Promise<T>): Promise<T>
  /** Opens the rows themselves, for what the HTTP interface does not show. */
  withDatabase<T>(work: (db: Database) => Promise<T>): Promise<T>
}

export function openShell(command: Command): Shell {
  const flags = command.optsWithGlobals<GlobalFlags>()
  const io = openIo(Boolean(flags.json))
  const { settings } = loadSettings()
  const { dataDir, place } = locate(flags, settings)
  return {
    io,
    settings,
    dataDir,
    place,
    async asAdmin(work) {
      const { baseUrl, appId, appSecret } = place
      if (!appId || !appSecret) throw new CliFailure(missing(place))
      return explained(baseUrl, () => work(new HeraldServer({ baseUrl, appId, appSecret })))
    },
    async asOperator(work) {
      const { baseUrl, operatorKey } = place
      if (!operatorKey)
        throw new CliFailure(
          'The operator’s key is missing: give --operator-key, set HERALD_OPERATOR_KEY, or run npm start, whose key is used then.',
        )
      return explained(baseUrl, () => work(new HeraldOperator({ baseUrl, operatorKey })))
    },
    withDatabase: (work) => withDatabase(databaseUrlOf(settings, dataDir), work),
  }
}

/** Where Herald and the data directory are, and what a standalone has left there. */
export function locate(flags: GlobalFlags, settings: Settings) {
  if (flags.url !== undefined && !/^https?:\/\/[^\s/]/.test(flags.url))
    throw new UsageFailure('--url must be an address that begins with http:// or https://.')
  const dataDir = flags.dataDir ? fromCaller(flags.dataDir) : resolve(settings.dataDir)
  const demo = readDemo(dataDir)
  return { dataDir, demo, place: findPlace(flags, settings, demo) }
}

function missing({ appId }: Place): string {
  const what = appId ? `The secret of the application ${appId} is missing` : 'No application is named'
  return `${what}: give --app and --secret, set HERALD_APP_ID and HERALD_APP_SECRET, or run npm start, whose demo is used then.`
}

/** Herald's own sentences pass; those of the network name the server and what to do. */
async function explained<T>(baseUrl: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isUnanswered(error)) throw error
    if (error.name === 'TimeoutError')
      throw new CliFailure(`Herald at ${baseUrl} did not answer in time.`, { cause: error })
    throw new CliFailure(
      `Herald at ${baseUrl} cannot be reached (${reasonOf(error)}): run npm start, or name another with --url or HERALD_URL.`,
      { cause: error },
    )
  }
}

/** DATABASE_URL, or the Postgres of the standalone that runs in the data directory. */
function databaseUrlOf({ databaseUrl }: Settings, dataDir: string): string {
  const url = databaseUrl ?? findOwnPostgres(dataDir)
  if (url === undefined)
    throw new CliFailure(
      `DATABASE_URL is not set, and no standalone runs in ${dataDir}: set it, or run npm start.`,
    )
  return url
}

export async function withDatabase<T>(url: string, work: (db: Database) => Promise<T>): Promise<T> {
  // Most commands speak HTTP alone and should not wait for Prisma to load.
  const { openDatabase } = await import('@herald/db/store')
  const db = openDatabase(url, { max: 1, name: 'herald cli' })
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

/** A path as the person meant it who typed it, also under npm, which runs its scripts elsewhere. */
export const fromCaller = (path: string): string => resolve(callerDirectory(), path)

/** A file that a flag names; `-` is stdin. */
export function readNamed(path: string, flag: string): Buffer {
  try {
    return readFileSync(path === '-' ? 0 : fromCaller(path))
  } catch (error) {
    throw new CliFailure(`${flag}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`)
  }
}
