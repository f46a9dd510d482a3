import type { Database } from '@herald/db/store'
import type { Answers } from './answers.ts'
import type { WorkerMetrics } from './metrics.ts'

/** What writing results needs. */
export type WriteDeps = {
  db: Database
  answers: Answers
  log: { warn(fields: object, message: string): void }
  metrics?: WorkerMetrics
}
