import type { Database } from '@herald/db/store'
import { devicePage, finishPlanning, type PlannedPage, PlanningFailed, planPage } from '@herald/db/tasks'
import { type Lane, type Plan, planGroups } from '@herald/domain'
import { type CertificateCache, rulesFor } from '@herald/plan'
import type { Postponed } from './postponed.ts'
import { planRecallPage } from './recall-page.ts'

/** Maximum number of devices per page; limits the planner's memory for audiences of any size. */
const PAGE_DEVICES = 20_000
/** One page in this many is of the lane normal first. */
const NORMAL_EVERY = 5

export type RoutingDeps = { certificates: CertificateCache }

export type PlanDeps = RoutingDeps & {
  db: Database
  postponed: Postponed
  turns: PageTurns
  /** Called with each committed plan. */
  onPlanned(plan: Plan): void
}

/** Whose page is next; kept between rounds. */
export type PageTurns = {
  pages: number
  /** The application that had the last page of the lane. */
  last: Record<Lane, string>
}

export const newPageTurns = (): PageTurns => ({ pages: 0, last: { high: '', normal: '' } })

/** Plans one page of a large task. Returns whether there may be more to do. */
export async function planRound(deps: PlanDeps): Promise<boolean> {
  const { db, turns } = deps
  turns.pages++
  try {
    const page = await nextPage(deps)
    if (page?.plan) deps.onPlanned(page.plan)
    if (page?.last) await finishPlanning(db, [page.taskId])
    return page !== undefined
  } catch (error) {
    if (!(error instanceof PlanningFailed)) throw error
    await deps.postponed.add(error)
    return true
  }
}

/** Applications take turns, so that one with a thousand broadcasts gets as many pages as one with a single broadcast. */
async function nextPage(deps: PlanDeps): Promise<PlannedPage | undefined> {
  const { last, pages } = deps.turns
  const lanes: Lane[] = pages % NORMAL_EVERY === 0 ? ['normal', 'high'] : ['high', 'normal']
  for (const lane of lanes) {
    for (const after of last[lane] === '' ? [''] : [last[lane], '']) {
      const page = await planPage(deps.db, { lane, after, except: deps.postponed.ids() }, async (slice) => {
        const { task, lo, hi } = slice
        last[lane] = task.appId
        if (task.audience.kind === 'recall') return planRecallPage(deps, task, slice, PAGE_DEVICES)
        const found = await devicePage(deps.db, task, { lo, hi, max: PAGE_DEVICES })
        if (!found) return undefined
        const rules = rulesFor(task, await deps.certificates.of(task.appId))
        return { plan: planGroups(found.groups, rules, task.speed), devices: found.count }
      })
      if (page) return page
    }
  }
  return undefined
}
