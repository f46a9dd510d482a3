import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Binaries } from './binaries.ts'
import { PostgresProblem, type ServerUser } from './server-user.ts'
import { unfinishedPrefix } from './unfinished.ts'

/** The files of one server: data, password and log in one folder. */
export type Cluster = { folder: string; dataDir: string; logFile: string; password: string }

export const userName = 'herald'

export const dataDirOf = (folder: string) => join(folder, 'data')
export const passwordOf = (folder: string) => readFileSync(join(folder, 'password'), 'utf8').trim()

/** How server programs are started in the data directory. */
export function inDataDir(dataDir: string, user: ServerUser | undefined) {
  // The server's user may lack access to the directories above the data. Node changes directory before it changes user, and
  // the link in /proc opens the working directory without passing those above it.
  const path = user && process.platform === 'linux' ? '/proc/self/cwd' : dataDir
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
  return { path, spawn: { ...user, cwd: dataDir, env } }
}

/** Creates the cluster unless it exists. */
export function openCluster(options: {
  folder: string
  binaries: Binaries
  user: ServerUser | undefined
  durable: boolean
  log: (sentence: string) => void
}): Cluster {
  const { folder, user } = options
  const dataDir = dataDirOf(folder)
  const passwordFile = join(folder, 'password')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (user) chownSync(folder, user.uid, user.gid)
  if (!existsSync(dataDir)) {
    options.log('creating the database')
    writeFileSync(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600 })
    if (user) chownSync(passwordFile, user.uid, user.gid)
    createData(options, dataDir)
  }
  const version = readFileSync(join(dataDir, 'PG_VERSION'), 'utf8').trim()
  if (version !== '18') {
    throw new PostgresProblem(
      `The data in ${dataDir} was written by PostgreSQL ${version}, but this version of Herald includes PostgreSQL 18.`,
    )
  }
  return {
    folder,
    dataDir,
    logFile: join(folder, 'postgres.log'),
    password: passwordOf(folder),
  }
}

function createData(
  {
    folder,
    binaries,
    user,
    durable,
  }: { folder: string; binaries: Binaries; user: ServerUser | undefined; durable: boolean },
  dataDir: string,
): void {
  const work = mkdtempSync(join(folder, unfinishedPrefix))
  if (user) chownSync(work, user.uid, user.gid)
  const { path, spawn } = inDataDir(work, user)
  const args = [
    `--pgdata=${path}`,
    `--username=${userName}`,
    '--auth=scram-sha-256',
    '--pwfile=../password',
    // The usual number slows down guesses at a password that a person chose, and costs a client 5 ms of CPU time per connection. Ours has 24
    // random bytes. Passwords of other roles get the usual number (server-options.ts).
    '--set=scram_iterations=1',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    ...(durable ? [] : ['--no-sync']),
  ]
  const { status, error, stderr } = spawnSync(binaries.initdb, args, { ...spawn, encoding: 'utf8' })
  if (status !== 0)
    throw new PostgresProblem(
      `The database could not be created in ${folder}: ${error?.message ?? firstError(stderr)}.`,
    )
  renameSync(work, dataDir)
}

/** initdb prints many lines when it fails; the first error is the cause. */
function firstError(stderr: string): string {
  const lines = stderr.trim().split('\n')
  const cause = lines.find((line) => /FATAL|PANIC|error/.test(line)) ?? lines[0] ?? ''
  return cause.replace(/^.*?(FATAL|PANIC|error): +/, '')
}
