import {
  beginDueTask,
  closePlanning,
  type Database,
  devicePage,
  planPage,
  resolveSmallAudiences,
} from '@herald/db'
import { planDevices } from '@herald/domain'
import { type CertificateBook, rulesFor } from '@herald/plan'

/** Most devices of one page: what a planner holds in memory, whatever the size of the audience. */
const PAGE_DEVICES = 10_000

/** Begins one due task or plans one page of a large one. Answers whether there may be more. */
export async function planRound(deps: { db: Database; certificates: CertificateBook }): Promise<boolean> {
  const begun = await beginDueTask(deps.db, async (task) => {
    const [devices] = await resolveSmallAudiences(deps.db, [task])
    if (!devices) return undefined
    return planDevices(devices, rulesFor(task, await deps.certificates.of(task.appId)), task.speed)
  })
  const paged = await planPage(deps.db, async ({ task, lo, hi }, runner) => {
    const certificates = await deps.certificates.of(task.appId)
    const devices = await devicePage(runner, task, { lo, hi, most: PAGE_DEVICES })
    return (
      devices && {
        plan: planDevices(devices, rulesFor(task, certificates), task.speed),
        devices: devices.length,
      }
    )
  })
  if (!begun && !paged) await closePlanning(deps.db)
  return begun || paged
}
