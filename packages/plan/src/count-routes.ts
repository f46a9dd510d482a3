import type { Database } from '@herald/db/store'
import { countAudience } from '@herald/db/tasks'
import { type NewTask, publicName, routeOf } from '@herald/domain'
import type { CertificateCache } from './certificate-cache.ts'
import { type RoutedTask, rulesFor } from './rules.ts'

type CountedTask = RoutedTask & Pick<NewTask, 'appId' | 'groupId' | 'audience'>

/** Audiences up to this many devices are counted exactly. */
export const MAX_COUNTED = 100_000

export type AudienceCount = {
  devices: number
  /** By public channel name; the inbox counts as the native channel. */
  byChannel: Record<string, number>
  /** Devices without a usable channel. */
  unreachable: number
  /** False: there may be more devices, and all numbers are lower bounds. */
  exact: boolean
}

/** Counts the devices that a task would be sent to, by the channel that each would get now. Writes and sends nothing. */
export async function countRoutes(
  deps: { db: Database; certificates: CertificateCache },
  task: CountedTask,
  max = MAX_COUNTED,
): Promise<AudienceCount> {
  const [{ kinds, exact }, certificates] = await Promise.all([
    countAudience(deps.db, task, max),
    deps.certificates.of(task.appId),
  ])
  const rules = rulesFor(task, certificates)
  const counted: AudienceCount = { devices: 0, byChannel: {}, unreachable: 0, exact }
  for (const { device, count } of kinds) {
    const route = routeOf(device, rules)
    counted.devices += count
    if (route.to === 'unreachable') counted.unreachable += count
    else {
      const channel = publicName(route.to === 'vendor' ? route.channel : 'native')
      counted.byChannel[channel] = (counted.byChannel[channel] ?? 0) + count
    }
  }
  return counted
}
