import type { PushJob } from '../src/index.ts'

export const job = (batchId: number): PushJob => ({
  certificateId: '7',
  batches: [{ taskId: 1, id: batchId }],
})
export const idOf = (done: PushJob) => done.batches[0]?.id ?? -1

/** For workers that must not be taken for dead. */
export const alive = (reason: string) => {
  throw new Error(reason)
}

export function writtenLog() {
  const said: string[] = []
  const write = (_: object, message: string) => {
    said.push(message)
  }
  return { said, warn: write, error: write }
}
