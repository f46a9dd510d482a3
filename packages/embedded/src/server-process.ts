import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Binaries } from './binaries.ts'
import { type Cluster, inDataDir } from './cluster.ts'
import { serverOptions } from './server-options.ts'
import type { ServerUser } from './server-user.ts'

export type ServerProcess = {
  pid: number
  /** Undefined when it accepts connections, otherwise why it ended. Recovery after a crash may take minutes. */
  ready(accepts: () => Promise<boolean>): Promise<string | undefined>
  onUnexpectedExit(report: (sentence: string) => void): void
  stop(): Promise<void>
}

/** Starts the program itself, detached from our process group, with its words in the cluster's log. */
export function launchServer(options: {
  cluster: Cluster
  binaries: Binaries
  user: ServerUser | undefined
  port: number
  durable: boolean
  settings: Record<string, string> | undefined
}): ServerProcess {
  const { cluster, binaries, user, port, durable, settings } = options
  const { path, spawn: where } = inDataDir(cluster.dataDir, user)
  const logStart = prepareLog(cluster.logFile)
  const log = openSync(cluster.logFile, 'a', 0o600)
  const args = ['-D', path, ...serverOptions({ port, dataDir: cluster.dataDir, durable, settings })]
  const child = spawn(binaries.postgres, args, { ...where, detached: true, stdio: ['ignore', log, log] })
  closeSync(log)
  child.unref()
  let stopping = false
  let manner = ''
  const ended = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      manner = signal ?? `exit code ${code}`
      resolve()
    })
    child.once('error', (error) => {
      manner = error.message
      resolve()
    })
  })

  return {
    pid: child.pid ?? 0,
    async ready(accepts) {
      let over = false
      void ended.then(() => {
        over = true
      })
      while (!over) {
        if (await accepts()) return undefined
        await Promise.race([ended, sleep(25)])
      }
      return lastComplaint(readFileSync(cluster.logFile, 'utf8').slice(logStart)) || manner
    },
    onUnexpectedExit(report) {
      void ended.then(() => {
        if (!stopping) report(`Postgres ended by itself (${manner})`)
      })
    },
    stop() {
      stopping = true
      return stop(child, ended)
    },
  }
}

async function stop(child: ChildProcess, ended: Promise<void>): Promise<void> {
  // Politely for those who are just hanging up, then fast, then immediate, and if all else fails by force: it then
  // recovers at the next start.
  for (const [signal, patience] of [
    ['SIGTERM', 500],
    ['SIGINT', 10_000],
    ['SIGQUIT', 5_000],
    ['SIGKILL', 5_000],
  ] as const) {
    child.kill(signal)
    const late = new AbortController()
    const done = await Promise.race([
      ended.then(() => true),
      sleep(patience, false, { signal: late.signal }).catch(() => false),
    ])
    late.abort()
    if (done) return
  }
}

/** Answers where this run's lines will begin; keeps the file from growing over the years. */
function prepareLog(file: string): number {
  if (!existsSync(file)) return 0
  const { size } = statSync(file)
  if (size < 10_000_000) return size
  renameSync(file, `${file}.old`)
  return 0
}

/** The server's own words for its end. */
function lastComplaint(lines: string): string {
  const words = lines
    .split('\n')
    .filter((line) => /FATAL|PANIC|could not/.test(line) && !/starting up/.test(line))
  return words.map((line) => line.replace(/^.*?(FATAL|PANIC|LOG|ERROR): +/, '')).join('; ')
}
