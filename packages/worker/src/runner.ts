import { eachConcurrently } from '@herald/async'
import { endActivities } from '@herald/db/devices'
import { isUnreachable, retrying } from '@herald/db/store'
import { type ClaimedBatch, tasksById } from '@herald/db/tasks'
import {
  type Channel,
  ownReasons,
  publicName,
  type RecipientResult,
  type RecoveryPauses,
  recoveryPauses,
} from '@herald/domain'
import { type ApplicationCertificates, payloadOf, type ReadCertificate, type Unusable } from '@herald/plan'
import type { PushJob } from '@herald/queue'
import { askGovernor, returnUnused, uncountUnsent } from './ask-governor.ts'
import { type Attempt, newAttempt, setRemaining } from './attempt.ts'
import { type ClaimedJob, claimJob } from './claim-job.ts'
import { type JoinedSettles, joinSettles } from './join-settles.ts'
import { keepLeases, type Leases } from './lease.ts'
import { type LoadedPart, loadTargets } from './load-targets.ts'
import { askBreaker, confirmRefusals, noteAnswers, type Permission, type RecoveryDeps } from './recovery.ts'
import { type Single, sendBatch, sendSingles } from './send-batch.ts'
import { type SettleDeps, settleAccepted, settleAttempts } from './settle-attempts.ts'
import { createSilenceWarnings, type SilenceWarnings } from './silence-warnings.ts'
import type { Progress } from './slots.ts'
import type { Transports } from './transports.ts'
import { createSilenceCounter } from './vendor-silence.ts'
import { isWriting } from './write-settlements.ts'

export type RunnerDeps = SettleDeps & {
  transports: Transports
  channel: Channel
  /** Name of this process. */
  worker: string
  /** Time limit of one call to the vendor. */
  timeoutMs: number
  /** Aborts when the process must end: calls in flight are given up and the results so far are written. */
  stopping?: AbortSignal
  /** For specs that cannot wait as long as the usual ones. */
  pauses?: RecoveryPauses
  warnings?: SilenceWarnings
  wait?: RecoveryDeps['wait']
  log: RecoveryDeps['log']
  /** Set for each job. */
  onProgress?: Progress
}

/** Batches of one job sent concurrently; small ones would otherwise wait for each other's round trip. */
const PARALLEL_BATCHES = 32
const PARALLEL_CALLS = 4
/** One call of a channel with one request per device sends a whole batch, so it gets more time. */
const BATCH_TIME_FACTOR = 4
const PARTIAL_MS = 1000
/** How long batches wait when they were put back because the vendor does not answer for their certificate. */
export const PUT_BACK_SECONDS = 5
/** How often a certificate that no key opens is tried again. */
const SEALED_WAIT_SECONDS = 60
/** For the statements before and after the calls of a probe. */
const PROBE_MARGIN_SECONDS = 10

/** Handles one job: claim, load, send, settle. Batches that it cannot finish are reclaimed when their lease expires. */
export function createRunner(deps: RunnerDeps): (job: PushJob, onProgress?: Progress) => Promise<void> {
  const recovery = {
    silence: createSilenceCounter(),
    pauses: deps.pauses ?? recoveryPauses,
    warnings: deps.warnings ?? createSilenceWarnings((fields, message) => deps.log.warn(fields, message)),
  }
  return async (job, onProgress) => {
    const claimed = await claimJob(deps.db, job, { channel: deps.channel, process: deps.worker })
    if (claimed.batches.length > 0)
      await runBatches({ ...deps, ...recovery, onProgress }, claimed, job.certificateIds)
  }
}

type RunDeps = RunnerDeps & RecoveryDeps

/** The batches of a job that belong to one certificate, by their rows: what the job says does not matter. */
type Part = {
  attempts: Attempt[]
  certificate: ReadCertificate | Unusable
  application: ApplicationCertificates
}
type UsablePart = LoadedPart & { permission: Permission }

async function runBatches(
  deps: RunDeps,
  claimed: ClaimedJob,
  certificateIds: readonly string[],
): Promise<void> {
  const leases = keepLeases(deps.db, claimed.batches, claimed.requestedAt, isWriting)
  const errors: unknown[] = []
  try {
    const groups = [...Map.groupBy(claimed.batches, ({ certificateId }) => certificateId).values()]
    const parts = await loadTogether(groups, (some) => partsOf(deps, claimed, some), errors)
    // Claiming a bundle takes all its tasks, also those whose vendor does not answer (slots.ts).
    const isWaiting = ({ attempts: [first] }: Part) =>
      first!.batch.bundle !== undefined && !certificateIds.includes(String(first!.batch.certificateId))
    const putOff = parts.filter(isWaiting).flatMap(({ attempts }) => attempts)
    const busy = { kind: 'deferred', reason: ownReasons.vendor_busy, wait: PUT_BACK_SECONDS } as const
    for (const attempt of putOff) setRemaining(attempt, busy)
    const { usable, unsent } = await askCertificates(
      deps,
      parts.filter((part) => !isWaiting(part)),
    )
    unsent.push(...putOff)
    // At once: a probe may take a minute.
    if (unsent.length > 0) await settleAttempts(deps, unsent)
    const load = async (some: UsablePart[]) => {
      await loadTargets(deps.db, some)
      return some
    }
    const loaded = usable.length > 0 ? await loadTogether(usable, load, errors) : []
    await askGovernor(deps.db, loaded, deps.metrics)
    const settles = joinSettles(loaded.length, (attempts) => settleAttempts(deps, attempts))
    const results = await Promise.allSettled(
      loaded.map((part) => runPart(deps, part, leases, claimed, settles)),
    )
    for (const result of results) if (result.status === 'rejected') errors.push(result.reason)
  } finally {
    leases.end()
  }
  for (const error of errors.slice(1)) deps.log.error({ err: error }, 'a part of a job failed')
  if (errors.length > 0) throw errors[0]
}

/**
 * Loads for all certificates of a job at once. If a row cannot be read, it is done for each of them alone: one application must not
 * stop the batches of others.
 */
async function loadTogether<Item, Loaded>(
  items: Item[],
  load: (items: Item[]) => Promise<Loaded[]>,
  errors: unknown[],
): Promise<Loaded[]> {
  try {
    return await load(items)
  } catch (error) {
    if (items.length < 2 || isUnreachable(error)) throw error
  }
  const loaded: Loaded[] = []
  for (const item of items) {
    try {
      loaded.push(...(await load([item])))
    } catch (error) {
      errors.push(error)
    }
  }
  return loaded
}

async function partsOf(
  deps: RunDeps,
  { tasks: known }: ClaimedJob,
  groups: ClaimedBatch[][],
): Promise<Part[]> {
  const ids = new Set(groups.flatMap((batches) => batches.map(({ taskId }) => taskId)))
  const missing = [...ids].filter((id) => !known.has(id))
  const [tasks, applications] = await Promise.all([
    missing.length > 0 ? retrying(() => tasksById(deps.db.pool, missing)) : [],
    Promise.all(groups.map((batches) => retrying(() => deps.certificates.of(batches[0]!.appId)))),
  ])
  const byId = new Map(tasks.map((task) => [task.taskId, task]))
  return groups.map((batches, at) => ({
    attempts: batches.map((batch) => newAttempt(batch, known.get(batch.taskId) ?? byId.get(batch.taskId)!)),
    certificate: applications[at]!.byId(batches[0]!.certificateId ?? 0),
    application: applications[at]!,
  }))
}

/** `unsent` are the attempts of certificates that do not send, with their results. */
async function askCertificates(
  deps: RunDeps,
  parts: Part[],
): Promise<{ usable: UsablePart[]; unsent: Attempt[] }> {
  const unsent: Attempt[] = []
  const open: LoadedPart[] = []
  for (const { certificate, ...part } of parts) {
    const result = unsentResult(certificate)
    if (!result) {
      open.push({ ...part, certificate: certificate as ReadCertificate })
      continue
    }
    for (const attempt of part.attempts) setRemaining(attempt, result)
    unsent.push(...part.attempts)
  }
  const asked = await Promise.all(
    open.map(async (part): Promise<UsablePart> => {
      const { attempts, certificate } = part
      const seconds = sendSeconds(deps, attempts[0]!, certificate)
      const permission = await askBreaker(deps, attempts, certificate, seconds)
      return { ...part, attempts: permission.sendable, permission }
    }),
  )
  unsent.push(...asked.flatMap(({ permission }) => permission.putOff))
  return { usable: asked.filter(({ attempts }) => attempts.length > 0), unsent }
}

/** Undefined for a certificate that sends. */
function unsentResult(certificate: ReadCertificate | Unusable): RecipientResult | undefined {
  if ('problem' in certificate) {
    const { problem: reason, sealedId } = certificate
    // Postgres does not know when the right key is configured, so nothing would wake the batch.
    return sealedId === undefined
      ? { kind: 'rejected', reason }
      : { kind: 'unsent', reason, wait: SEALED_WAIT_SECONDS }
  }
  const { stored } = certificate
  if (stored.state !== 'closed') return undefined
  return { kind: 'unsent', reason: ownReasons.certificate_closed(publicName(stored.channel), stored) }
}

async function runPart(
  deps: RunDeps,
  part: UsablePart,
  leases: Leases,
  claimed: ClaimedJob,
  settles: JoinedSettles,
): Promise<void> {
  const { attempts, certificate, permission } = part
  const certificateId = certificate.stored.id
  let sent: Attempt[] = []
  try {
    await sendAttempts(deps, part, leases, claimed)
    // Calls that were given up here tell nothing about the vendor.
    if (!deps.stopping?.aborted) sent = attempts.filter(({ batch }) => !leases.isLost(batch))
    await confirmRefusals(deps, attempts, certificate)
    await returnUnused(deps.db, attempts, certificate).catch((error) =>
      deps.log.warn({ err: error, certificateId }, 'unused quota could not be returned'),
    )
  } catch (error) {
    settles.leave()
    throw error
  }
  await settles.settle(attempts)
  // A token that stays because of an error is called dead again by the next update.
  const ended = attempts.flatMap(({ activities }) => activities?.ended ?? [])
  if (ended.length > 0)
    await endActivities(deps.db, ended).catch((error) =>
      deps.log.warn({ err: error, certificateId }, 'tokens of ended Live Activities could not be deleted'),
    )
  // After the settle: an error must not lose results, which would be sent again.
  await noteAnswers(deps, sent, certificate, permission).catch((error) =>
    deps.log.error({ err: error, certificateId }, 'the breaker could not be written'),
  )
  await uncountUnsent(deps.db, attempts, certificate).catch((error) =>
    deps.log.warn(
      { err: error, certificateId },
      'the daily count of devices that were not sent to could not be corrected',
    ),
  )
}

/** How long the calls of a batch may take. */
function sendSeconds({ timeoutMs }: RunDeps, { batch }: Attempt, { adapter }: ReadCertificate): number {
  const calls = Math.ceil(batch.recipients.length / adapter.tokensPerCall)
  const perCall = timeoutMs * (adapter.onePerDevice ? BATCH_TIME_FACTOR : 1)
  return (Math.ceil(calls / PARALLEL_CALLS) * perCall) / 1000 + PROBE_MARGIN_SECONDS
}

async function sendAttempts(
  deps: RunnerDeps,
  { attempts, certificate, application }: LoadedPart,
  leases: Leases,
  claimed: ClaimedJob,
): Promise<void> {
  const { adapter, settings, stored } = certificate
  const { applicationName } = application
  const certificateId = String(stored.id)
  const limits = {
    tokensPerCall: adapter.tokensPerCall,
    parallelCalls: PARALLEL_CALLS,
    timeoutMs: deps.timeoutMs * (adapter.onePerDevice ? BATCH_TIME_FACTOR : 1),
    stopping: deps.stopping,
    onCalled: (seconds: number) => deps.metrics?.called(adapter.name, seconds),
    onProgress: () => deps.onProgress?.('calling', certificateId),
  }
  const credential = { id: stored.id, version: stored.version, adapter, settings }
  await deps.transports.use(credential, async (transport) => {
    const toSend = attempts.filter(({ targets }) => targets.length > 0)
    const stop = adapter.onePerDevice ? settlePeriodically(deps, toSend) : undefined
    /** Undefined if the vendor cannot carry the message. */
    const prepare = (attempt: Attempt): Single | undefined => {
      const { batch, task } = attempt
      const ttl = task.ttl === 0 ? 0 : Math.max(1, Math.floor(batch.remaining))
      const mapped = payloadOf({ ...task, ttl }, certificate, applicationName)
      if ('unsupported' in mapped) {
        setRemaining(attempt, { kind: 'unsupported', reason: mapped.unsupported })
        return undefined
      }
      if (batch.attempts === 1)
        deps.metrics?.firstCall(batch.channel, batch.lane, claimed.secondsSince(task, batch))
      return { attempt, payload: mapped.payload }
    }
    const isSingle = ({ targets }: Attempt) => transport.sendEach !== undefined && targets.length === 1
    const sendTogether = async () => {
      const singles = toSend.flatMap((attempt) => {
        if (!isSingle(attempt)) return []
        if (!leases.isLost(attempt.batch)) return prepare(attempt) ?? []
        setRemaining(attempt, { kind: 'unavailable', reason: ownReasons.no_result })
        return []
      })
      if (singles.length > 0) await sendSingles(singles, transport, limits, leases.signalOfAll)
    }
    const others = toSend.filter((attempt) => !isSingle(attempt))
    const sendApart = () =>
      eachConcurrently(others, PARALLEL_BATCHES, async (attempt) => {
        const prepared = prepare(attempt)
        if (prepared)
          await sendBatch(attempt, prepared.payload, transport, limits, () => leases.signalOf(attempt.batch))
      })
    // The transport is in use until both have ended.
    const ended = await Promise.allSettled([sendTogether(), sendApart()])
    await stop?.()
    for (const result of ended) if (result.status === 'rejected') throw result.reason
  })
  deps.onProgress?.('working', certificateId)
}

/** After a crash, recipients accepted since the last of these writes are sent to again. */
function settlePeriodically(deps: RunnerDeps, attempts: readonly Attempt[]): () => Promise<void> {
  let working = Promise.resolve()
  const timer = setInterval(() => {
    working = working
      .then(() => settleAccepted(deps, attempts))
      .catch((error) =>
        deps.log.error(
          { err: error, tasks: attempts.map(({ batch }) => batch.taskId) },
          'a partial settle failed',
        ),
      )
  }, PARTIAL_MS)
  return async () => {
    clearInterval(timer)
    await working
  }
}
