import type { Lane } from '@herald/domain'

/** What a job waits for: `calling` is reported before a call to the vendor and at each of its results, `working` after the last. */
export type Progress = (phase: 'calling' | 'working') => void

export type SlotJob = {
  lane: Lane
  certificateId: string | null
  work(progress: Progress): Promise<void>
  /** Puts the job's batches back to be released later. */
  putBack(): Promise<void>
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

type Waiting = { certificate: string; start(): void }
type Usage = { inSlots: number; stalled: number; isSuspect: boolean }

/**
 * The slots that the lanes of a worker share. At most `size` jobs run, and while both lanes wait the high one gets four turns for
 * one of the normal one. Within a lane the next job is of the certificate with the fewest slots, of several the one that came
 * first: the single push of one application does not wait for the many of another. A job whose vendor stops answering loses its slot, so that it takes no turns from other applications; its
 * certificate is suspect until another of its jobs ends without stalling. A suspect certificate has one slot, and jobs beyond that
 * are put back: they would stall as well.
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
    const slotsOf = ({ certificate }: Waiting) => usages.get(certificate)?.inSlots ?? 0
    let best = 0
    for (let at = 1; at < jobs.length; at++) if (slotsOf(jobs[at]!) < slotsOf(jobs[best]!)) best = at
    return jobs.splice(best, 1)[0]
  }

  function startNext(): void {
    while (inSlots < size) {
      const next = nextWaiting()
      if (!next) return
      inSlots++
      usageOf(next.certificate).inSlots++
      next.start()
    }
  }

  function slotOf(lane: Lane, certificate: string): Promise<void> {
    return new Promise((resolve) => {
      waiting[lane].push({ certificate, start: resolve })
      startNext()
    })
  }

  function leaveSlot(certificate: string): void {
    inSlots--
    const usage = usageOf(certificate)
    usage.inSlots--
    forgetIdle(certificate, usage)
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

  async function run({ lane, certificateId, work, putBack }: SlotJob): Promise<void> {
    const certificate = certificateId ?? ''
    if (mustWait(certificate, 0)) return putBack()
    await slotOf(lane, certificate)
    if (mustWait(certificate, 1)) {
      leaveSlot(certificate)
      return putBack()
    }
    return new Promise((resolve, reject) => {
      const usage = usageOf(certificate)
      let isStalled = false
      const watch = watchProgress(() => {
        usage.isSuspect = true
        if (stalledJobs.size >= size * STALLED_PER_SLOT) return false
        isStalled = true
        usage.stalled++
        stalledJobs.add(ended)
        resolve()
        leaveSlot(certificate)
        return true
      })
      const end = () => {
        watch.stop()
        if (isStalled) {
          usage.stalled--
          stalledJobs.delete(ended)
          forgetIdle(certificate, usage)
        } else {
          if (watch.hasCalled() && !watch.hasStalled()) usage.isSuspect = false
          leaveSlot(certificate)
        }
      }
      const ended: Promise<void> = work(watch.progress).then(
        () => {
          end()
          resolve()
        },
        (error) => {
          end()
          if (isStalled) options.onStalledError(error)
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

/**
 * Calls `onStalled` when a call reported nothing for STALL_MS, and again later if it returned false. It counts ticks, not time: a
 * process that gets no CPU for seconds has one late tick, and does not take its own delay for the vendor's.
 */
function watchProgress(onStalled: () => boolean) {
  let isCalling = false
  let ticks = 0
  let called = false
  let stalled = false
  let timer: NodeJS.Timeout | undefined

  function stop(): void {
    clearInterval(timer)
    timer = undefined
  }

  function tick(): void {
    if (!isCalling || ++ticks < STALL_MS / TICK_MS) return
    ticks = 0
    stalled = true
    if (onStalled()) stop()
  }

  return {
    progress: (phase: 'calling' | 'working') => {
      isCalling = phase === 'calling'
      ticks = 0
      if (isCalling && !called) timer = setInterval(tick, TICK_MS)
      called ||= isCalling
    },
    hasStalled: () => stalled,
    hasCalled: () => called,
    stop,
  }
}
