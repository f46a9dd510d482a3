import type { HeldOutcome, Holds } from '@herald/channels'
import { type StoredHold, storeHold } from '@herald/db/certificates'
import { retrying } from '@herald/db/store'
import type { Context } from './service.ts'

/** A hold that lasts at most this much longer than the stored one is not written again. */
const EXTENSION_MS = 60_000
/** Longer than the certificate cache takes to notice a change: from then on the stored hold counts, which an operator may clear. */
const UNREAD_MS = 3000

type OwnHold = { outcome: HeldOutcome; until: number; storedAt?: number }

/** The holds of one certificate: those stored, as the cache has read them, and those added here that it has not read yet. */
export function certificateHolds(
  { db, certificates, log }: Pick<Context, 'db' | 'certificates' | 'log'>,
  certificateId: number,
  now: () => number = Date.now,
): Holds {
  const own = new Map<string, OwnHold>()

  function current(scope: string): { outcome: HeldOutcome; until: number } | undefined {
    const mine = own.get(scope)
    if (mine) {
      const isRead = mine.storedAt !== undefined && now() - mine.storedAt > UNREAD_MS
      if (!isRead && now() < mine.until) return mine
      own.delete(scope)
    }
    const stored = certificates.knownHolds(certificateId).find((hold) => hold.scope === scope)
    return stored && now() < stored.until ? { outcome: outcomeOf(stored), until: stored.until } : undefined
  }

  return {
    isEmpty: () => own.size === 0 && certificates.knownHolds(certificateId).length === 0,
    find: (scope) => current(scope)?.outcome,
    add(scope, outcome, until) {
      const known = current(scope)
      if (known && until <= known.until + EXTENSION_MS) return
      const hold: OwnHold = { outcome: { ...outcome, held: true }, until }
      own.set(scope, hold)
      const { kind, reason } = outcome
      const row = { scope, kind, code: reason.code, text: reason.text, until }
      retrying(() => storeHold(db, certificateId, row)).then(
        () => {
          hold.storedAt = now()
        },
        // Without the row only this process holds the part back.
        (error) => log.error({ err: error, certificateId, scope }, 'a hold could not be stored'),
      )
    },
  }
}

function outcomeOf({ kind, code, text, until }: StoredHold): HeldOutcome {
  const reason = { code, text }
  return kind === 'quota' ? { kind, reason, until, held: true } : { kind, reason, held: true }
}
