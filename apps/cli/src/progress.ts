import { SingleBar } from 'cli-progress'
import type { Io } from './io.ts'

export type Progress = {
  /** `words` follow the bar. */
  update(done: number, total: number, words: string): void
  /** Leaves the last state on the screen. */
  stop(): void
}

/** How often a log, which nobody watches, gets a line. */
const LOG_MS = 10_000

/** A bar that redraws itself for people, a line now and then for a log, nothing for machines. */
export function openProgress(io: Io): Progress {
  if (io.live) return openBar()
  let last = performance.now()
  return {
    update(done, total, words) {
      const now = performance.now()
      if (now - last < LOG_MS) return
      last = now
      io.note(`${percent(done, total)} ${words}`)
    },
    stop() {},
  }
}

function openBar(): Progress {
  const bar = new SingleBar({
    format: '{bar} {share} {words}',
    stream: process.stderr,
    barsize: 16,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    hideCursor: true,
    // An unknown total must not look like the end.
    emptyOnZero: true,
  })
  let started = false
  let interrupted: (() => void) | undefined
  return {
    update(done, total, words) {
      const payload = { share: percent(done, total).padStart(4), words }
      if (!started) {
        started = true
        bar.start(total, done, payload)
        interrupted = () => {
          bar.stop()
          process.exit(130)
        }
        process.once('SIGINT', interrupted)
        return
      }
      bar.setTotal(total)
      bar.update(done, payload)
    },
    stop() {
      bar.stop()
      if (interrupted) process.off('SIGINT', interrupted)
    },
  }
}

/** 100 % is said of the end alone. */
export function percent(done: number, total: number): string {
  if (total <= 0) return '0%'
  return `${done >= total ? 100 : Math.min(99, Math.floor((done / total) * 100))}%`
}
