import type { TransportDeps } from '@herald/channels'
import { taskMemory, vendorSession } from '@herald/db/certificates'
import { certificateHolds } from './certificate-holds.ts'
import type { Context } from './service.ts'

/** Returns the dependencies of the transport of one certificate. */
export function transportDeps(
  context: Pick<Context, 'settings' | 'db' | 'sealer' | 'certificates' | 'log'>,
  certificateId: number,
): TransportDeps {
  const { settings, db, sealer } = context
  return {
    urls: settings.vendorUrls,
    proxy: settings.proxy,
    ca: settings.vendorCa,
    client: settings.vendorClient,
    now: Date.now,
    timeoutMs: settings.sendTimeoutSeconds * 1000,
    session: (key, mint, stale, scope) =>
      vendorSession(db, sealer, scope === 'shared' ? { key } : { certificateId, key }, mint, stale),
    holds: certificateHolds(context, certificateId),
    taskMemory: (taskId, key, make) => taskMemory(db, taskId, certificateId, key, make),
  }
}
