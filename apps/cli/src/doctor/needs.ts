import { poolSizes } from '@herald/db/store'
import { channels } from '@herald/domain'
import { queryConnections } from '@herald/queue'
import type { Needs } from './judge-postgres.ts'

/**
 * Maximum number of connections: of the standalone, or of one api, one planner, one courier and one worker per channel. `perProcess` is the
 * setting for it.
 */
export function needsOf(standalone: boolean, queueInPostgres: boolean, perProcess?: number): Needs {
  const processes = standalone ? 1 : channels.length + 3
  const rows = processes * (perProcess ?? (standalone ? poolSizes.standalone : poolSizes.program))
  // A queue in Postgres has a few connections per process, and one more in each that reads queues.
  const readers = standalone ? 1 : channels.length
  const queue = queueInPostgres ? processes * queryConnections + readers : 0
  return { who: standalone ? 'the standalone' : 'one of each program', connections: rows + queue }
}
