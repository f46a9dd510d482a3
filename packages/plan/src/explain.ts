import type { Database } from '@herald/db/store'
import { devicesById } from '@herald/db/tasks'
import { type NewTask, publicName, routeOf, type Skipped } from '@herald/domain'
import type { CertificateBook } from './certificate-book.ts'
import { rulesFor } from './rules.ts'

export type Explanation = {
  /** Public name of the channel the device would get; null when none can take it. */
  channel: string | null
  reason: string
  others: { channel: string; reason: string }[]
}

/** Which channel a device would get for a task, and why not the others. Sends nothing. */
export async function explain(
  deps: { db: Database; certificates: CertificateBook },
  task: NewTask,
  deviceId: number,
): Promise<Explanation> {
  const [[device], certificates] = await Promise.all([
    devicesById(deps.db.pool, [deviceId]),
    deps.certificates.of(task.appId),
  ])
  const passed: Skipped[] = []
  const found = device
    ? routeOf(device, rulesFor(task, certificates), passed)
    : ({ to: 'unreachable', reason: 'the device does not exist' } as const)
  const channel = found.to === 'vendor' ? found.channel : found.to === 'unreachable' ? null : 'native'
  return {
    channel: channel && publicName(channel),
    reason: found.reason,
    others: passed
      .filter((other) => other.channel !== channel)
      .map((other) => ({ channel: publicName(other.channel), reason: other.reason })),
  }
}
