import type { StoredCertificate } from '@herald/db/certificates'
import { callbackUrlOf } from '@herald/plan'
import type { ApiDeps } from '../deps.ts'

/** Vendors that send no callbacks have no address. */
export const callsBack = (deps: ApiDeps, { channel }: StoredCertificate) =>
  deps.adapters[channel]?.readCallback !== undefined

export function receiptUrlOf(deps: ApiDeps, stored: StoredCertificate): string | undefined {
  return callsBack(deps, stored) ? callbackUrlOf(stored, deps.publicUrl) : undefined
}
