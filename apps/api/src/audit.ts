import type { By } from '@herald/db/ledger'
import type { Caller, RouteContext } from './route.ts'

/** Who calls, from which address, for the audit. A change and its entry are committed together. */
export function byOf({ caller, address }: Pick<RouteContext, 'caller' | 'address'>): By {
  return { actor: actorOf(caller), address }
}

function actorOf(caller: Caller): string {
  return caller.role === 'none' ? 'nobody' : caller.actor
}
