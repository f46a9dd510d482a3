import { type Overview, readOverview, readSettledTotal } from '@herald/db/readings'
import type { Database } from '@herald/db/store'
import { createSteadyRead } from './steady-read.ts'

/** What goes on in an application; blank: in all of them. Many may look at it without end. */
export type OverviewReading = (appId: string) => Promise<Overview>

const SETTLED_MS = 60_000

export function createOverviewReading(db: Database): OverviewReading {
  const scopeOf = (appId: string) => (appId === '' ? undefined : appId)
  const settled = createSteadyRead((appId) => readSettledTotal(db, scopeOf(appId)), { leastMs: SETTLED_MS })
  return createSteadyRead(async (appId) => readOverview(db, scopeOf(appId), await settled(appId)))
}
