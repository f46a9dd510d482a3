import type { TransportDeps } from '@herald/channels'
import { taskMemory, vendorSession } from '@herald/db/certificates'
import { isTransient } from '@herald/db/store'
import { certificateHolds } from './certificate-holds.ts'
import type { Context } from './service.ts'

/** What the processes share (an access token, a stored payload) cannot be read at present. Tells nothing about the vendor. */
export class SharedStateUnavailable extends Error {}

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
      reading(() =>
        vendorSession(db, sealer, scope === 'shared' ? { key } : { certificateId, key }, mint, stale),
      ),
    holds: certificateHolds(context, certificateId),
    taskMemory: (taskId, key, make) => reading(() => taskMemory(db, taskId, certificateId, key, make)),
  }
}

/** Tells errors of Postgres from those of the vendor, which callers count as silence. */
async function reading<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isTransient(error)) throw error
    throw new SharedStateUnavailable('Postgres is not available', { cause: error })
  }
}
