import { hideCallbackKeys, tellExpiring } from '@herald/db/certificates'
import { hideClearTokens, openPushTokens, updateSuspects } from '@herald/db/devices'
import { sumStats } from '@herald/db/history'
import { analyzeGrown, isClearTextNeeded, resealSecrets } from '@herald/db/store'
import { applyRetention } from '@herald/db/tasks'
import type { Context, LoopOptions } from '@herald/program'
import { erasedRound, type InboxDeps, trimRound } from './inbox-rounds.ts'

const RETENTION_MS = 3_600_000
/** The first retention after a long pause deletes the rows of many days. */
const RETENTION_LIMIT_MS = 6 * 3_600_000
const TRIM_MS = 3_600_000
const SUSPECTS_MS = 30_000
const ERASED_MS = 30_000
/** How often older tasks are summed up; statistics read the others one by one. */
const SUMS_MS = 60_000
const QUIET_SUMS_MS = 300_000
/** How late an application learns that a certificate expires in 30, 7 or 1 days. */
const EXPIRY_MS = 3_600_000
/** How long statements of a new day may read whole partitions. */
const STATISTICS_MS = 3_000
const QUIET_STATISTICS_MS = 60_000
/** During a key rotation a process with the old settings may still write with the old key. */
const RESEAL_MS = 30_000
/** After an upgrade of the release that stored push tokens in clear text: 500 rows per 100 ms, ten million in an hour. */
const HIDE_MS = 60_000
const HIDE_ROWS = 500
const HIDE_PAUSE_MS = 100

/** The loops that maintain stored data. No push waits for them, and no check wakes them. */
export function maintenanceLoops(
  context: Context,
  onEnded: InboxDeps['onEnded'],
  isQuiet: () => boolean,
): LoopOptions[] {
  const { db } = context
  return [
    {
      name: 'statistics',
      // Partitions of a quiet database do not grow.
      idleMs: () => (isQuiet() ? QUIET_STATISTICS_MS : STATISTICS_MS),
      round: () => analyzeGrown(db).then(() => false),
    },
    { name: 'trim', idleMs: TRIM_MS, round: () => trimRound({ db, onEnded }) },
    { name: 'erased', idleMs: ERASED_MS, round: () => erasedRound({ db, onEnded }) },
    { name: 'suspects', idleMs: SUSPECTS_MS, round: () => updateSuspects(db).then(() => false) },
    {
      name: 'sums',
      // In a quiet database there is little to sum.
      idleMs: () => (isQuiet() ? QUIET_SUMS_MS : SUMS_MS),
      round: () => sumStats(db),
    },
    { name: 'expiry', idleMs: EXPIRY_MS, round: () => tellExpiring(db).then(() => false) },
    {
      name: 'retention',
      idleMs: RETENTION_MS,
      limitMs: RETENTION_LIMIT_MS,
      round: () => retentionRound(context),
    },
    { name: 'reseal', idleMs: RESEAL_MS, round: () => resealRound(context) },
    { name: 'hide-tokens', idleMs: HIDE_MS, round: () => hideRound(context) },
  ]
}

async function retentionRound({ db, settings, log }: Context): Promise<false> {
  const { lostEvents } = await applyRetention(db, settings.retentionDays)
  if (lostEvents > 0)
    log.error(
      `${lostEvents} rows of events older than ${settings.retentionDays} days were deleted unsent: no courier runs`,
    )
  return false
}

async function resealRound({ db, sealer, settings, log }: Context): Promise<boolean> {
  if (settings.otherMasterKeys.length === 0) return false
  const { resealed, broken } = await resealSecrets(db, sealer)
  if (resealed > 0) log.info(`${resealed} secrets were resealed with HERALD_MASTER_KEY`)
  if (broken > 0)
    log.error(
      `${broken} secrets are sealed with a key that is not configured; add it to HERALD_OTHER_MASTER_KEYS, or save these certificates and webhooks again`,
    )
  return false
}

/** Processes of the previous release need the clear text until their upgrade window ends. */
async function hideRound({ db, sealer }: Context): Promise<false | number> {
  if (await isClearTextNeeded(db.pool)) return false
  await hideCallbackKeys(db, sealer)
  const hidden = await hideClearTokens(db, await openPushTokens(db, sealer), HIDE_ROWS)
  return hidden > 0 && HIDE_PAUSE_MS
}
