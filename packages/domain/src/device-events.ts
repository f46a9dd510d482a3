import type { EventName } from './events.ts'
import type { Why } from './reasons.ts'

/** An event about several recipients of a batch. Without `devices`: about all of them. */
export type DeviceEvents = {
  kind: Extract<EventName, `device.${string}`>
  code?: string
  text?: string
  devices?: number[]
}

/** The counters that have events; moved and cancelled recipients have none. */
const kinds = { failed: 'device.failed', expired: 'device.expired' } as const

/** What the events of an attempt say: `sent` are the places of the recipients that were accepted, `whys` has those of the others. */
export function deviceEvents(
  recipients: readonly number[],
  sent: readonly number[],
  whys: readonly Why[],
): DeviceEvents[] {
  const events: DeviceEvents[] = []
  const devicesAt = (places: readonly number[]) =>
    places.map((place) => recipients[place]!).sort((a, b) => a - b)
  if (sent.length === recipients.length) events.push({ kind: 'device.sent' })
  else if (sent.length > 0) events.push({ kind: 'device.sent', devices: devicesAt(sent) })
  for (const { f: fate, c: code, t: text, p } of whys)
    if (fate === 'failed' || fate === 'expired')
      events.push({ kind: kinds[fate], code, text, devices: devicesAt(p) })
  return events
}
