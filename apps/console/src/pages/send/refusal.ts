import { HeraldError } from '@herald/client'
import { splitComplaint } from '../../i18n/complaints.ts'
import type { Draft } from './draft.ts'
import { type FieldName, fieldOfPath } from './fields.ts'

/** A refusal of the API that names a field of the form. */
export type Refusal = { field: FieldName; complaint: string }

export function refusalOf(error: unknown, draft: Draft): Refusal | undefined {
  if (!(error instanceof HeraldError) || error.status !== 400) return undefined
  const found = splitComplaint(error.message)
  const field = found && fieldOfPath(found.path, draft)
  return field && found && { field, complaint: found.complaint }
}

/**
 * Whether the push may have been accepted although the call failed: there was no answer, the answer was not Herald's, a proxy lost it, or
 * Herald lost its own connection while it wrote.
 */
export function isInDoubt(error: unknown): boolean {
  return error instanceof HeraldError && [0, 50001, 50201, 40801].includes(error.code)
}
