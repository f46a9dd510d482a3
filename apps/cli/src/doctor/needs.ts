import { poolSizes } from '@herald/db/store'
import { channels } from '@herald/domain'
import { questionConnections } from '@herald/queue'
import type { Needs } from './judge-postgres.ts'

/** The most connections of a whole Herald: the standalone, or one each of api, planner and the workers. */
export function needsOf(standalone: boolean, queueInPostgres: boolean): Needs {
  const processes = standalone ? 1 : channels.length + 2
  const rows = processes * (standalone ? poolSizes.standalone : poolSizes.program)
  // A queue in Postgres has a few connections a process, and one more for each queue that is worked on.
  const queue = queueInPostgres ? processes * questionConnections + channels.length : 0
  return { who: standalone ? 'the standalone' : 'one of each program', connections: rows + queue }
}
