import { isTransient, type Runner } from '@herald/db/store'
import { devicesById, type PlannedTask } from '@herald/db/tasks'
import { type Channel, noPlan, type Plan, planDevices } from '@herald/domain'
import type { CertificateCache } from './certificate-cache.ts'
import { rulesFor } from './rules.ts'

/**
 * Plans the recipients of a native batch that could not be written to a connection: the same decision as in planning, with
 * the present state of their connections. `stateOf` overrides the presence of a device whose connection the caller knows: it is gone, or
 * its app is in the background. If the certificates of an application cannot be read, its devices stay on the native channel and are tried again
 * later, so that the batches of other applications are not delayed.
 */
export async function planUnwritten(
  deps: { runner: Runner; certificates: CertificateCache; onUnreadable(error: unknown, appId: string): void },
  batch: { appId: string; tried: readonly Channel[] },
  task: PlannedTask,
  recipients: readonly number[],
  stateOf: (deviceId: number, node: string) => 'gone' | 'away' | undefined = () => undefined,
): Promise<Plan> {
  if (recipients.length === 0) return noPlan
  const devices = await devicesById(deps.runner, recipients)
  const present = devices.map((device) => {
    const state = device.node === undefined ? undefined : stateOf(device.id, device.node)
    return state ? { ...device, node: undefined, away: state === 'away' } : device
  })
  try {
    const rules = rulesFor(task, await deps.certificates.of(batch.appId), batch.tried)
    return planDevices(present, rules, task.speed)
  } catch (error) {
    if (isTransient(error)) throw error
    deps.onUnreadable(error, batch.appId)
    const stay = {
      channel: 'native' as const,
      recipients: devices.map(({ id }) => id),
      tried: [...batch.tried],
    }
    return { batches: [stay], inbox: [], unreachable: 0 }
  }
}
