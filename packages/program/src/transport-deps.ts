import type { TransportDeps } from '@herald/channels'
import { taskMemory, vendorSession } from '@herald/db/certificates'
import type { Context } from './service.ts'

/** Returns the dependencies of the transport of one certificate. */
export function transportDeps(
  { settings, db, sealer }: Pick<Context, 'settings' | 'db' | 'sealer'>,
  certificateId: number,
): TransportDeps {
  return {
    urls: settings.vendorUrls,
    proxy: settings.proxy,
    ca: settings.vendorCa,
    client: settings.vendorClient,
    now: Date.now,
    timeoutMs: settings.sendTimeoutSeconds * 1000,
    session: (key, mint, stale) => vendorSession(db, sealer, certificateId, key, mint, stale),
    taskMemory: (taskId, key, make) => taskMemory(db, taskId, certificateId, key, make),
  }
}
