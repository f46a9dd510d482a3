import { isTransient, type Runner } from '@herald/db/store'
import { devicesById, type PlannedTask } from '@herald/db/tasks'
import { type Channel, type Plan, planDevices } from '@herald/domain'
import type { CertificateBook } from './certificate-book.ts'
import { rulesFor } from './rules.ts'

/**
 * Where recipients of a native batch go that could not be written to: the same decision as in planning, by who is online
 * now. `isOffline` overrules the presence of a device whose connection the caller knows to be gone. An application whose
 * certificates cannot be judged must not hold up the batches of others: its devices stay with the native channel, whose rows
 * say when to ask again.
 */
export async function planUnwritten(
  deps: { runner: Runner; certificates: CertificateBook; onUnjudged(error: unknown): void },
  batch: { appId: string; tried: readonly Channel[] },
  task: PlannedTask,
  recipients: readonly number[],
  isOffline: (deviceId: number, node: string) => boolean = () => false,
): Promise<Plan> {
  if (recipients.length === 0) return { batches: [], inbox: [], unreachable: 0 }
  const devices = await devicesById(deps.runner, recipients)
  const present = devices.map((device) =>
    device.node !== undefined && isOffline(device.id, device.node) ? { ...device, node: undefined } : device,
  )
  try {
    const rules = rulesFor(task, await deps.certificates.of(batch.appId), batch.tried)
    return planDevices(present, rules, task.speed)
  } catch (error) {
    if (isTransient(error)) throw error
    deps.onUnjudged(error)
    const stay = {
      channel: 'native' as const,
      recipients: devices.map(({ id }) => id),
      tried: [...batch.tried],
    }
    return { batches: [stay], inbox: [], unreachable: 0 }
  }
}
