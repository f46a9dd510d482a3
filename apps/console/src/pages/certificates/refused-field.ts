import type { CredentialField } from '@herald/channels/cards'
import { HeraldError } from '@herald/client'

/** A path of the request at the beginning of a refusal, such as `extra.package_name must be …`. */
const FIELD = /^(app_id|app_key|app_secret|certificate|extra\.\w+)\b/

/** The field that a refusal is about; undefined if `inputs` has none for it, such as keys of the JSON text. */
export function refusedField(
  error: unknown,
  inputs: readonly CredentialField[],
): CredentialField | undefined {
  const path = error instanceof HeraldError ? FIELD.exec(error.message)?.[1] : undefined
  return inputs.find(({ to }) => to === path)
}
