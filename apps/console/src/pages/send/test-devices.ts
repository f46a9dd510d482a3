import type { DeviceView } from '@herald/client'
import { findDevices, listDevices, putDevice } from '../../api/calls.ts'

/** More are no test. Each costs a call per second after the push. */
export const MAX_TEST_DEVICES = 10

/**
 * Devices with this tag are the test devices of the application. A tag, because it is stored with the devices: everybody who sends for the
 * application has the same list, the API can change it, and a push can be sent to it.
 */
const TEST_TAG = 'herald-test-device'

/** One more than may be used shows that there are too many. */
export const listTestDevices = async (appId: string): Promise<DeviceView[]> =>
  (await listDevices(appId, { tag: TEST_TAG, limit: MAX_TEST_DEVICES + 1 })).list

export type Added =
  | { guids: string[] }
  /** No device has this id, token or alias. */
  | { unknown: string }
  | { tooMany: true }

/** Adds the devices that `text` names; all of them, or none. */
export async function addTestDevice(
  appId: string,
  text: string,
  known: readonly DeviceView[],
): Promise<Added> {
  const found = await findDevices(appId, text, MAX_TEST_DEVICES)
  if (!found) return { unknown: text }
  const fresh = found.list.filter(({ device_guid }) => !known.some((one) => one.device_guid === device_guid))
  if (found.more || known.length + fresh.length > MAX_TEST_DEVICES) return { tooMany: true }
  await Promise.all(fresh.map(({ device_guid }) => putDevice(appId, { device_guid, add_tags: [TEST_TAG] })))
  return { guids: found.list.map(({ device_guid }) => device_guid) }
}

export const removeTestDevice = (appId: string, guid: string) =>
  putDevice(appId, { device_guid: guid, remove_tags: [TEST_TAG] })

const keyOf = (appId: string) => `herald.test-devices-off.${appId}`

/** Devices of the list that the person at this browser does not send to. */
export function loadUnselected(appId: string): string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(keyOf(appId)) ?? '[]')
    return Array.isArray(stored) ? stored.filter((item): item is string => typeof item === 'string') : []
  } catch {
    return []
  }
}

export function storeUnselected(appId: string, guids: readonly string[]): void {
  try {
    localStorage.setItem(keyOf(appId), JSON.stringify(guids))
  } catch {
    // The storage is full or forbidden: the choice then lives as long as the dialog.
  }
}
