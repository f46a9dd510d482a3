import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { sleep, within } from '@herald/async'
import type { Binaries } from './binaries.ts'
import { type Cluster, inDataDir } from './cluster.ts'
import { serverOptions } from './server-options.ts'
import type { ServerUser } from './server-user.ts'

export type ServerProcess = {
  pid: number
  /**
   * Resolves with undefined when it accepts connections or the signal is aborted, otherwise with why it ended. Crash recovery may
   * take minutes.
   */
  ready(accepts: () => Promise<boolean>, signal?: AbortSignal): Promise<string | undefined>
  onUnexpectedExit(report: (sentence: string) => void): void
  stop(): Promise<void>
}

/** Starts the server detached from our process group, with its output in the cluster's log. */
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
  let cause = ''
  const ended = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      cause = signal ?? `exit code ${code}`
      resolve()
    })
    child.once('error', (error) => {
      cause = error.message
      resolve()
    })
  })

  return {
    pid: child.pid ?? 0,
    async ready(accepts, signal) {
      let over = false
      void ended.then(() => {
        over = true
      })
      while (!over) {
        if (signal?.aborted || (await accepts())) return undefined
        await Promise.race([ended, sleep(25)])
      }
      return errorLines(readFileSync(cluster.logFile, 'utf8').slice(logStart)) || cause
    },
    onUnexpectedExit(report) {
      void ended.then(() => {
        if (!stopping) report(`Postgres ended unexpectedly (${cause})`)
      })
    },
    stop() {
      stopping = true
      return stop(child, ended)
    },
  }
}

async function stop(child: ChildProcess, ended: Promise<void>): Promise<void> {
  // Smart shutdown gives clients a moment to disconnect; then fast, immediate, and finally SIGKILL, after which the server
  // recovers at the next start.
  for (const [signal, waitMs] of [
    ['SIGTERM', 500],
    ['SIGINT', 10_000],
    ['SIGQUIT', 5_000],
    ['SIGKILL', 5_000],
  ] as const) {
    child.kill(signal)
    const hasEnded = ended.then(() => true)
    if (await within(hasEnded, waitMs, () => false)) return
  }
}

/** Returns the offset at which this run's lines will begin. A large file is moved away, so the log cannot grow forever. */
function prepareLog(file: string): number {
  if (!existsSync(file)) return 0
  const { size } = statSync(file)
  if (size < 10_000_000) return size
  renameSync(file, `${file}.old`)
  return 0
}

/** The messages in which the server says why it ended. */
function errorLines(lines: string): string {
  const errors = lines
    .split('\n')
    .filter((line) => /FATAL|PANIC|could not/.test(line) && !/starting up/.test(line))
  return errors.map((line) => line.replace(/^.*?(FATAL|PANIC|LOG|ERROR): +/, '')).join('; ')
}
