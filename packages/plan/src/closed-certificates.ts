import type { planDevices } from '@herald/domain'
import type { rulesFor } from './rules.ts'

/** Certificates of the devices that cannot send at present. Undefined if all can, as nearly always. */
export function closedCertificates(
  devices: Parameters<typeof planDevices>[0],
  rules: ReturnType<typeof rulesFor>,
): Set<number> | undefined {
  let closed: Set<number> | undefined
  for (const { bindings } of devices) {
    for (const { channel, environment, region } of bindings) {
      const status = rules.statusOf(channel, environment, region)
      if (!(status.unavailable || status.resting) || status.certificateId === undefined) continue
      closed ??= new Set()
      closed.add(status.certificateId)
    }
  }
  return closed
}
