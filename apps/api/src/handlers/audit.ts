import { type AuditEntry, recordAudit } from '@herald/db/tenants'
import type { Caller, Context } from '../route.ts'

/** Writes down who changed what. What was done stays done if this fails, so a failure is only logged. */
export async function note(
  { deps, appId, caller, requestId }: Context,
  action: string,
  detail: AuditEntry['detail'] = {},
): Promise<void> {
  await recordAudit(deps.db, { appId: appId || undefined, actor: actorOf(caller), action, detail }).catch(
    (error) =>
      deps.log.error(
        { err: error, requestId, action, detail },
        'an action could not be written to the audit',
      ),
  )
}

function actorOf(caller: Caller): string {
  return caller.role === 'none' ? 'nobody' : caller.actor
}
