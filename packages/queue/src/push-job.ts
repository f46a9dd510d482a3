import { InvalidJob } from './errors.ts'

/**
 * A job contains ids only, so it can neither leak a message nor disagree with the rows. Its batches belong to one
 * certificate; native batches have none.
 */
export type PushJob = {
  certificateId: string | null
  batches: BatchKey[]
}

type BatchKey = { taskId: number; id: number }

type StoredJob = { v: 1; certificateId: string | null; batches: [taskId: number, id: number][] }

export function encodePushJob(job: PushJob): StoredJob {
  const stored: StoredJob = {
    v: 1,
    certificateId: job.certificateId,
    batches: job.batches.map(({ taskId, id }) => [taskId, id]),
  }
  decodePushJob(stored)
  return stored
}

/** Throws InvalidJob for any version but 1, so that a job of a newer Herald fails visibly. */
export function decodePushJob(stored: unknown): PushJob {
  if (typeof stored !== 'object' || stored === null) throw new InvalidJob('the job is not an object')
  const { v, certificateId, batches, ...rest } = stored as Record<string, unknown>
  if (v !== 1)
    throw new InvalidJob(`the job has version ${JSON.stringify(v)}, this Herald supports version 1`)
  const unknown = Object.keys(rest)[0]
  if (unknown !== undefined) throw new InvalidJob(`the job has an unknown field ${JSON.stringify(unknown)}`)
  if (certificateId !== null && (typeof certificateId !== 'string' || certificateId === '')) {
    throw new InvalidJob('certificateId of the job is neither an id nor null')
  }
  if (!Array.isArray(batches) || batches.length === 0) throw new InvalidJob('the job has no batches')
  return { certificateId, batches: batches.map(decodeKey) }
}

function decodeKey(pair: unknown): BatchKey {
  const [taskId, id, ...rest] = Array.isArray(pair) ? pair : []
  if (!isId(taskId) || !isId(id) || rest.length > 0) {
    throw new InvalidJob('a batch of the job is not a pair of task id and batch id')
  }
  return { taskId, id }
}

function isId(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
