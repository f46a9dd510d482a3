import { SingleBar } from 'cli-progress'
import type { Io } from './io.ts'

export type Progress = {
  /** `text` follows the bar. */
  update(done: number, total: number, text: string): void
  /** Leaves the last state on the screen. */
  stop(): void
}

/** Interval of the lines when stdout is not a terminal. */
const LOG_MS = 10_000

/** A progress bar on a terminal, otherwise a line every 10 seconds; nothing with --json. */
export function openProgress(io: Io): Progress {
  if (io.live) return openBar()
  let last = performance.now()
  return {
    update(done, total, text) {
      const now = performance.now()
      if (now - last < LOG_MS) return
      last = now
      io.note(`${percent(done, total)} ${text}`)
    },
    stop() {},
  }
}

function openBar(): Progress {
  const bar = new SingleBar({
    format: '{bar} {share} {text}',
    stream: process.stderr,
    barsize: 16,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    hideCursor: true,
    // An unknown total must not look complete.
    emptyOnZero: true,
  })
  let started = false
  let interrupted: (() => void) | undefined
  return {
    update(done, total, text) {
      const payload = { share: percent(done, total).padStart(4), text }
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

/** Rounds down, so that 100 % appears only at the end. */
export function percent(done: number, total: number): string {
  if (total <= 0) return '0%'
  return `${done >= total ? 100 : Math.min(99, Math.floor((done / total) * 100))}%`
}
