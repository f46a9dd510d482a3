import type { Caller } from '../route.ts'

/** The caller as the audit names them. */
export function actorOf(caller: Caller): string {
  return caller.role === 'none' ? 'nobody' : caller.actor
}
