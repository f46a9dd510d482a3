import { Worker } from 'node:worker_threads'
import { within } from '@herald/async'
import { type Certificate, CertificateProblem } from '@herald/channels'
import { createAdmission } from '../admission.ts'
import type { ThreadReply } from './upload-thread.ts'

/**
 * Reads uploaded certificates in a thread, one at a time. A file that a caller made can take long to decrypt: on the event loop
 * every other call would wait for it. Stored certificates passed this check, so other programs read them directly.
 */
export type UploadCheck = {
  /** Returns when the credential expires (Unix ms), if it does. Throws CertificateProblem, or Failure if too many wait. */
  check(certificate: Certificate): Promise<number | undefined>
  close(): Promise<void>
}

/** Many times what the most expensive accepted file takes. */
const MAX_MS = 5_000
/** The thread is started by an upload and ends when there was none for this long. */
const IDLE_MS = 10_000
const MAX_WAITING = { perApplication: 8, all: 32 }
const MAX_HEAP_MIB = 128

type Thread = { worker: Worker; ready: Promise<unknown> }

export function createUploadCheck(options: { maxMs?: number; file?: URL } = {}): UploadCheck {
  const { maxMs = MAX_MS, file = new URL('./upload-thread.ts', import.meta.url) } = options
  const waiting = createAdmission(MAX_WAITING)
  let last: Promise<unknown> = Promise.resolve()
  let thread: Thread | undefined
  let idle: NodeJS.Timeout | undefined

  function openThread(): Thread {
    const worker = new Worker(file, { resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB } })
    const opened = { worker, ready: nextReply(worker) }
    const forget = () => {
      if (thread === opened) thread = undefined
    }
    worker.on('exit', forget)
    worker.on('error', forget)
    worker.unref()
    return opened
  }

  async function closeThread(): Promise<void> {
    clearTimeout(idle)
    const closing = thread
    thread = undefined
    await closing?.worker.terminate()
  }

  async function read(certificate: Certificate): Promise<number | undefined> {
    clearTimeout(idle)
    thread ??= openThread()
    const { worker, ready } = thread
    try {
      // Without a time limit: the start is slow on a busy machine, which is not the caller's fault.
      await ready
      const answer = nextReply(worker)
      worker.postMessage(certificate)
      const result = await within(answer, maxMs, () => {
        void closeThread()
        throw new ThreadEnded()
      })
      if ('error' in result) throw result.error
      if ('problem' in result) throw new CertificateProblem(result.problem)
      return result.expiresAt
    } catch (error) {
      if (error instanceof ThreadEnded) throw new CertificateProblem('certificate takes too long to read')
      throw error
    } finally {
      idle = setTimeout(() => void closeThread(), IDLE_MS).unref()
    }
  }

  return {
    async check(certificate) {
      const leave = waiting.enter(certificate.application)
      const result = last.then(() => read(certificate))
      last = result.catch(() => {})
      return result.finally(leave)
    },
    close: closeThread,
  }
}

class ThreadEnded extends Error {}

/** Rejects when the thread fails or is stopped. */
function nextReply(worker: Worker): Promise<ThreadReply> {
  return new Promise((resolve, reject) => {
    const onReply = (reply: ThreadReply) => end(() => resolve(reply))
    const onExit = () => end(() => reject(new ThreadEnded()))
    const onError = (error: Error) => end(() => reject(isOutOfMemory(error) ? new ThreadEnded() : error))
    function end(settle: () => void) {
      worker.off('message', onReply).off('exit', onExit).off('error', onError)
      settle()
    }
    worker.on('message', onReply).on('exit', onExit).on('error', onError)
  })
}

function isOutOfMemory(error: Error): boolean {
  return 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}
