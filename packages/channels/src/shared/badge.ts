import type { Badge } from '@herald/domain'

/** For vendors whose badge adds 1 to 99 or is set to 0 to 99. "+0" is none at all: without a number they would add one. */
export function clampBadge(badge: Badge): Badge | undefined {
  if (badge.kind === 'add' && badge.count < 1) return undefined
  return { kind: badge.kind, count: Math.min(badge.count, 99) }
}
