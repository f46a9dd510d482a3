import type { VendorChannel } from '@herald/domain'

/** Channels whose workers speak to the stub in drills; the API and the planner know them as the real ones. */
export const stubbed: readonly VendorChannel[] = ['xiaomi', 'oppo', 'huawei']
