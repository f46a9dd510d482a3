const keyOf = (appId: string) => `herald.test-devices.${appId}`

/** More are no test. Each costs a call before the push and one per second after it. */
export const MAX_TEST_DEVICES = 10

/** Device ids and aliases of the person at this browser. The API has no place for what belongs to a person. */
export function loadTestDevices(appId: string): string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(keyOf(appId)) ?? '[]')
    return Array.isArray(stored) ? stored.filter((item): item is string => typeof item === 'string') : []
  } catch {
    return []
  }
}

export function storeTestDevices(appId: string, list: readonly string[]): void {
  try {
    localStorage.setItem(keyOf(appId), JSON.stringify(list))
  } catch {
    // The storage is full or forbidden: the list then lives as long as the dialog.
  }
}
