import type { Database, Sealer } from '@herald/db/store'
import type { CertificateBook } from '@herald/plan'
import type { PushQueues } from '@herald/queue'
import type { Settings } from '@herald/settings'
import type { Logger, Registry } from '@herald/telemetry'
import type { Dependencies, Dependency } from './dependencies.ts'

/** What a service is given; several services of one process share it. */
export type Context = {
  settings: Settings
  log: Logger
  registry: Registry
  db: Database
  queues: PushQueues
  sealer: Sealer
  certificates: CertificateBook
  dependencies: Dependencies
  /** The service is beyond repair: the program exits with 1 and its supervisor starts it anew. */
  die(reason: string): void
}

export type Running = {
  /** Undefined = ready; otherwise what it waits for. */
  waiting?(): string | undefined | Promise<string | undefined>
  /** Takes nothing new, lets what is in flight end, then closes what it opened. */
  stop(): Promise<void>
}

/** A part of Herald that runs until it is stopped. */
export type Service = {
  name: string
  /** Without which of these it does nothing worth being called ready; both when not said. */
  needs?: readonly Dependency[]
  start(context: Context): Promise<Running> | Running
}
