const keyOf = (appId: string) => `herald.device.${appId}`

/** The id of the device that this browser is on the test page; undefined if it never was one. */
export const storedTestDevice = (appId: string): string | undefined =>
  localStorage.getItem(keyOf(appId)) ?? undefined

export const storeTestDevice = (appId: string, guid: string): void => localStorage.setItem(keyOf(appId), guid)
