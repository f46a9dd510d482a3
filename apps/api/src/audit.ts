import { type AuditEntry, recordAudit } from '@herald/db/tenants'
import type { ApiDeps } from './deps.ts'
import type { Caller, RouteContext } from './route.ts'

export type AuditedCall = Pick<RouteContext, 'appId' | 'caller' | 'address' | 'requestId'> & {
  deps: Pick<ApiDeps, 'db' | 'log'>
}

/** Records who did what, from which address. What it records has already happened, so an error here is only logged. */
export async function audit(
  { deps, appId, caller, address, requestId }: AuditedCall,
  action: string,
  about: AuditEntry['detail'] = {},
): Promise<void> {
  const detail = { ...about, address }
  await recordAudit(deps.db, { appId: appId || undefined, actor: actorOf(caller), action, detail }).catch(
    (error) => deps.log.error({ err: error, requestId, action, detail }, 'could not write an audit entry'),
  )
}

export function actorOf(caller: Caller): string {
  return caller.role === 'none' ? 'nobody' : caller.actor
}
