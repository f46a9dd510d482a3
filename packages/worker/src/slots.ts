import type { Lane } from '@herald/domain'

/**
 * What a job waits for with a certificate: `calling` is reported before a call to the vendor and at each of its results, `working`
 * after the last.
 */
export type Progress = (phase: 'calling' | 'working', certificateId: string) => void

export type SlotJob = {
  lane: Lane
  certificateIds: readonly string[]
  /** Runs the batches of these certificates. */
  work(certificateIds: readonly string[], progress: Progress): Promise<void>
  /** Puts the batches of these certificates back, to be released later. */
  putBack(certificateIds: readonly string[]): Promise<void>
}

export type Slots = {
  /** Resolves when the job has ended, was put back, or has stalled; a stalled job goes on without its slot. */
  run(job: SlotJob): Promise<void>
  /** Resolves when no stalled job is running any more. */
  stalledEnded(): Promise<void>
}

/** A vendor that reports no result for this long has probably stopped answering. */
export const STALL_MS = 3_000
const TICK_MS = 500
/** Turns of the high lane for one of the normal lane while jobs of both wait. */
const HIGH_TURNS = 4
/** Stalled jobs per slot: they wait for the network only, but each has recipients in memory and connections open. */
const STALLED_PER_SLOT = 3

type Waiting = { certificates: readonly string[]; start(): void }
type Usage = { inSlots: number; stalled: number; isSuspect: boolean }

/**
 * The slots that the lanes of a worker share. At most `size` jobs run, and while both lanes wait the high one gets four turns for
 * one of the normal one. While a certificate has several slots, one job more of the high lane runs whose certificates have none: a job may take
 * seconds, and its certificate may have all slots. Within a lane the next job is that with the certificate that has the fewest slots, of several the one that
 * came first: the single push of one application does not wait for the many of another. A job whose vendor stops answering loses its
 * slot, so that it takes no turns from other applications; the certificate is suspect until its calls in another job end without
 * stalling. A suspect certificate has one slot, and its batches beyond that are put back: they would stall as well. A job of several
 * certificates keeps its slot until none of them gets answers.
 */
export function createSlots(options: {
  size: number
  /** The error of a job that had stalled before. */
  onStalledError(error: unknown): void
}): Slots {
  const { size } = options
  const waiting: Record<Lane, Waiting[]> = { high: [], normal: [] }
  const usages = new Map<string, Usage>()
  const stalledJobs = new Set<Promise<void>>()
  let inSlots = 0
  /** Turns of the high lane since a job of the normal lane began to wait or had its turn. */
  let highTurns = 0

  function nextWaiting(): Waiting | undefined {
    const { high, normal } = waiting
    if (normal.length === 0 || high.length === 0) {
      highTurns = 0
      return takeFewest(high.length > 0 ? high : normal)
    }
    if (highTurns < HIGH_TURNS) {
      highTurns++
      return takeFewest(high)
    }
    highTurns = 0
    return takeFewest(normal)
  }

  function takeFewest(jobs: Waiting[]): Waiting | undefined {
    const counts = jobs.map(({ certificates }) =>
      Math.min(...certificates.map((certificate) => usages.get(certificate)?.inSlots ?? 0)),
    )
    return jobs.splice(counts.indexOf(Math.min(...counts)), 1)[0]
  }

  function takeNewcomer(): Waiting | undefined {
    const { high } = waiting
    if (high.length === 0 || inSlots > size || !usages.values().some((usage) => usage.inSlots > 1))
      return undefined
    const at = high.findIndex(({ certificates }) =>
      certificates.every((certificate) => !usages.get(certificate)?.inSlots),
    )
    return at < 0 ? undefined : high.splice(at, 1)[0]
  }

  function startNext(): void {
    for (;;) {
      const next = inSlots < size ? nextWaiting() : takeNewcomer()
      if (!next) return
      inSlots++
      for (const certificate of next.certificates) usageOf(certificate).inSlots++
      next.start()
    }
  }

  function slotOf(lane: Lane, certificates: readonly string[]): Promise<void> {
    return new Promise((resolve) => {
      waiting[lane].push({ certificates, start: resolve })
      startNext()
    })
  }

  function leaveUsage(certificates: readonly string[]): void {
    for (const certificate of certificates) {
      const usage = usageOf(certificate)
      usage.inSlots--
      forgetIdle(certificate, usage)
    }
  }

  function leaveSlot(certificates: readonly string[]): void {
    inSlots--
    leaveUsage(certificates)
    startNext()
  }

  function usageOf(certificate: string): Usage {
    let usage = usages.get(certificate)
    if (!usage) {
      usage = { inSlots: 0, stalled: 0, isSuspect: false }
      usages.set(certificate, usage)
    }
    return usage
  }

  /** A suspect certificate is remembered without jobs; the map has at most the certificates of the channel. */
  function forgetIdle(certificate: string, usage: Usage): void {
    if (usage.inSlots + usage.stalled === 0 && !usage.isSuspect) usages.delete(certificate)
  }

  /** `own` is 1 if the job has a slot already. */
  function mustWait(certificate: string, own: 0 | 1): boolean {
    const usage = usages.get(certificate)
    return usage?.isSuspect === true && (usage.inSlots > own || usage.stalled >= size)
  }

  async function run({ lane, certificateIds, work, putBack }: SlotJob): Promise<void> {
    if (certificateIds.every((certificate) => mustWait(certificate, 0))) return putBack(certificateIds)
    await slotOf(lane, certificateIds)
    const suspect = certificateIds.filter((certificate) => mustWait(certificate, 1))
    if (suspect.length === certificateIds.length) {
      leaveSlot(certificateIds)
      return putBack(certificateIds)
    }
    leaveUsage(suspect)
    const running = certificateIds.filter((certificate) => !suspect.includes(certificate))
    // The job has not ended while its work runs, even if the batches could not be put back.
    const ended = await Promise.allSettled([
      runInSlot(running, (progress) => work(running, progress)),
      suspect.length > 0 ? putBack(suspect) : undefined,
    ])
    for (const result of ended) if (result.status === 'rejected') throw result.reason
  }

  function trust(certificate: string): void {
    const usage = usageOf(certificate)
    usage.isSuspect = false
    forgetIdle(certificate, usage)
  }

  function runInSlot(
    certificates: readonly string[],
    work: (progress: Progress) => Promise<void>,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      /** Those without answers when the job lost its slot. */
      let stalled: string[] | undefined
      const watch = watchProgress((silent, areOthersCalling) => {
        for (const certificate of silent) usageOf(certificate).isSuspect = true
        if (areOthersCalling || stalledJobs.size >= size * STALLED_PER_SLOT) return false
        stalled = silent
        for (const certificate of silent) usageOf(certificate).stalled++
        stalledJobs.add(ended)
        resolve()
        leaveSlot(certificates)
        return true
      })
      const end = () => {
        watch.stop()
        for (const certificate of certificates)
          if (watch.hasCalled(certificate) && !watch.hasStalled(certificate)) trust(certificate)
        if (!stalled) return leaveSlot(certificates)
        stalledJobs.delete(ended)
        for (const certificate of stalled) {
          const usage = usageOf(certificate)
          usage.stalled--
          forgetIdle(certificate, usage)
        }
      }
      // The calls of other certificates of the job may take much longer.
      const progress: Progress = (phase, certificate) => {
        watch.progress(phase, certificate)
        if (phase === 'working' && watch.hasCalled(certificate) && !watch.hasStalled(certificate))
          trust(certificate)
      }
      const ended: Promise<void> = work(progress).then(
        () => {
          end()
          resolve()
        },
        (error) => {
          end()
          if (stalled) options.onStalledError(error)
          else reject(error)
        },
      )
    })
  }

  return {
    run,
    async stalledEnded() {
      while (stalledJobs.size > 0) await Promise.all(stalledJobs)
    },
  }
}

type Watched = { isCalling: boolean; ticks: number; hasStalled: boolean }

/**
 * Calls `onStalled` when calls with a certificate reported nothing for STALL_MS, and again later if it returned false. It counts
 * ticks, not time: a process that gets no CPU for seconds has one late tick, and does not take its own delay for the vendor's.
 */
function watchProgress(onStalled: (silent: string[], areOthersCalling: boolean) => boolean) {
  const watched = new Map<string, Watched>()
  let timer: NodeJS.Timeout | undefined

  function stop(): void {
    clearInterval(timer)
    timer = undefined
  }

  function tick(): void {
    const calling = [...watched].filter(([, { isCalling }]) => isCalling)
    const silent = calling.filter(([, one]) => ++one.ticks >= STALL_MS / TICK_MS)
    if (silent.length === 0) return
    for (const [, one] of silent) one.hasStalled = true
    const areOthersCalling = silent.length < calling.length
    if (
      onStalled(
        silent.map(([certificate]) => certificate),
        areOthersCalling,
      )
    )
      stop()
    // While others are still answered, the silent ones are looked at again at the next tick.
    else if (!areOthersCalling) for (const [, one] of silent) one.ticks = 0
  }

  return {
    progress: (phase: 'calling' | 'working', certificate: string) => {
      let one = watched.get(certificate)
      if (!one) {
        if (phase === 'working') return
        if (watched.size === 0) timer = setInterval(tick, TICK_MS)
        one = { isCalling: true, ticks: 0, hasStalled: false }
        watched.set(certificate, one)
      }
      one.isCalling = phase === 'calling'
      one.ticks = 0
    },
    hasStalled: (certificate: string) => watched.get(certificate)?.hasStalled ?? false,
    hasCalled: (certificate: string) => watched.has(certificate),
    stop,
  }
}
