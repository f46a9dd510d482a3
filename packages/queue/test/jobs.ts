import type { PushJob } from '../src/index.ts'

export const job = (batchId: number): PushJob => ({
  certificateIds: ['7'],
  batches: [{ taskId: 1, id: batchId }],
})
export const idOf = (done: PushJob) => done.batches[0]?.id ?? -1

/** `onDead` of workers that must stay alive. */
export const alive = (reason: string) => {
  throw new Error(reason)
}

export function recordingLog() {
  const lines: string[] = []
  const write = (_: object, message: string) => {
    lines.push(message)
  }
  return { lines, warn: write, error: write }
}
