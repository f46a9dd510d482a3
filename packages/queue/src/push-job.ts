import { InvalidJob } from './errors.ts'

/**
 * A job contains ids only, so it can neither leak a message nor disagree with the rows. Its batches belong to these certificates of
 * one channel; native batches have none. Which batch belongs to which certificate is in its row.
 */
export type PushJob = {
  certificateIds: readonly string[]
  batches: BatchKey[]
  /** Set if the job has a bundle instead of batches: its key. */
  bundle?: number
}

type BatchKey = { taskId: number; id: number }
type StoredKey = [taskId: number, id: number]

/** Version 1 has one certificate, or none; version 3 a bundle. A worker of the previous release fails a job of version 3. */
type StoredJob =
  | { v: 1; certificateId: string | null; batches: StoredKey[] }
  | { v: 2; certificateIds: readonly string[]; batches: StoredKey[] }
  | { v: 3; certificateIds: readonly string[]; bundle: number }

export function encodePushJob({ certificateIds, batches, bundle }: PushJob): StoredJob {
  if (bundle !== undefined) {
    const stored: StoredJob = { v: 3, certificateIds, bundle }
    decodePushJob(stored)
    return stored
  }
  const keys = batches.map(({ taskId, id }): StoredKey => [taskId, id])
  const stored: StoredJob =
    certificateIds.length > 1
      ? { v: 2, certificateIds, batches: keys }
      : { v: 1, certificateId: certificateIds[0] ?? null, batches: keys }
  decodePushJob(stored)
  return stored
}

/** Throws InvalidJob for versions above 3, so that a job of a newer Herald fails visibly. */
export function decodePushJob(stored: unknown): PushJob {
  if (typeof stored !== 'object' || stored === null) throw new InvalidJob('the job is not an object')
  const { v, ...fields } = stored as Record<string, unknown>
  if (v !== 1 && v !== 2 && v !== 3)
    throw new InvalidJob(`the job has version ${JSON.stringify(v)}, this Herald supports versions 1 to 3`)
  const known = {
    1: ['certificateId', 'batches'],
    2: ['certificateIds', 'batches'],
    3: ['certificateIds', 'bundle'],
  }[v]
  const unknown = Object.keys(fields).find((name) => !known.includes(name))
  if (unknown !== undefined) throw new InvalidJob(`the job has an unknown field ${JSON.stringify(unknown)}`)
  const { certificateId, certificateIds: several, batches, bundle } = fields
  const certificateIds = v === 1 ? oneCertificate(certificateId) : severalCertificates(several)
  if (v === 3) {
    if (!isId(bundle)) throw new InvalidJob('bundle of the job is not an id')
    return { certificateIds, batches: [], bundle }
  }
  if (!Array.isArray(batches) || batches.length === 0) throw new InvalidJob('the job has no batches')
  return { certificateIds, batches: batches.map(decodeKey) }
}

function oneCertificate(id: unknown): string[] {
  if (id === null) return []
  if (!isCertificate(id)) throw new InvalidJob('certificateId of the job is neither an id nor null')
  return [id]
}

function severalCertificates(ids: unknown): string[] {
  if (!Array.isArray(ids) || ids.length === 0 || !ids.every(isCertificate))
    throw new InvalidJob('certificateIds of the job is not a list of ids')
  return ids
}

/** Postgres would refuse anything else in the claim, and the job would fail without its reason. */
function isCertificate(id: unknown): id is string {
  return typeof id === 'string' && /^\d{1,18}$/.test(id)
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
