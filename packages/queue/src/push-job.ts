import { InvalidJob } from './errors.ts'

/**
 * A job contains ids only, so it can neither leak a message nor disagree with the rows. Its batches belong to these certificates of
 * one channel; native batches have none. Which batch belongs to which certificate is in its row.
 */
export type PushJob = {
  certificateIds: readonly string[]
  batches: BatchKey[]
}

type BatchKey = { taskId: number; id: number }
type StoredKey = [taskId: number, id: number]

/** Version 1 has one certificate, or none. A worker of the release before reads only this one. */
type StoredJob =
  | { v: 1; certificateId: string | null; batches: StoredKey[] }
  | { v: 2; certificateIds: readonly string[]; batches: StoredKey[] }

export function encodePushJob({ certificateIds, batches }: PushJob): StoredJob {
  const keys = batches.map(({ taskId, id }): StoredKey => [taskId, id])
  const stored: StoredJob =
    certificateIds.length > 1
      ? { v: 2, certificateIds, batches: keys }
      : { v: 1, certificateId: certificateIds[0] ?? null, batches: keys }
  decodePushJob(stored)
  return stored
}

/** Throws InvalidJob for versions above 2, so that a job of a newer Herald fails visibly. */
export function decodePushJob(stored: unknown): PushJob {
  if (typeof stored !== 'object' || stored === null) throw new InvalidJob('the job is not an object')
  const { v, batches, ...rest } = stored as Record<string, unknown>
  if (v !== 1 && v !== 2)
    throw new InvalidJob(`the job has version ${JSON.stringify(v)}, this Herald supports versions 1 and 2`)
  const field = v === 1 ? 'certificateId' : 'certificateIds'
  const { [field]: certificates, ...others } = rest
  const unknown = Object.keys(others)[0]
  if (unknown !== undefined) throw new InvalidJob(`the job has an unknown field ${JSON.stringify(unknown)}`)
  const certificateIds = v === 1 ? oneCertificate(certificates) : severalCertificates(certificates)
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
