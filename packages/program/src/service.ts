import type { RecoveryPauses } from '@herald/db/certificates'
import type { Database, Sealer } from '@herald/db/store'
import type { CertificateCache } from '@herald/plan'
import type { PushQueues } from '@herald/queue'
import type { Settings } from '@herald/settings'
import type { Logger, Registry } from '@herald/telemetry'
import type { Activity } from './activity.ts'
import type { Dependencies, Dependency } from './dependencies.ts'

/** The dependencies of a service; shared by the services of a process. */
export type Context = {
  settings: Settings
  log: Logger
  registry: Registry
  db: Database
  queues: PushQueues
  sealer: Sealer
  certificates: CertificateCache
  dependencies: Dependencies
  /** Set where all services share the process: each notes what it may have changed, and what others may have to do. */
  activity?: Activity
  /** For specs that cannot wait as long as the usual ones. */
  pauses?: RecoveryPauses
  /** The service cannot continue: the program ends what is in flight, exits with 1, and its supervisor restarts it. */
  die(reason: string): void
}

export type Running = {
  /** Returns undefined when ready, otherwise the name of what the service waits for. */
  waiting?(): string | undefined | Promise<string | undefined>
  /** Seconds since the last round of each loop, shown by /readyz. */
  rounds?(): Record<string, number>
  /** Takes no new work, waits for work in flight, then closes what the service opened. */
  stop(): Promise<void>
}

/** A part of Herald that runs until it is stopped. */
export type Service = {
  name: string
  /** The service is not ready without these (default: both). */
  needs?: readonly Dependency[]
  start(context: Context): Promise<Running> | Running
}
