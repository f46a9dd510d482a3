import type { NewCertificate } from '@herald/db/certificates'
import { Failure } from '../codes.ts'
import { isMask } from './mask.ts'

const EXTRA = 'extra.'
const columns = {
  app_id: 'appId',
  app_key: 'appKey',
  app_secret: 'appSecret',
  certificate: 'certificate',
} as const

/** A name that `keep` may contain. */
export const keptField = /^(app_id|app_key|app_secret|certificate|extra\.[a-z][a-z0-9_]{0,63})$/

type Credentials = Pick<NewCertificate, 'appId' | 'appKey' | 'appSecret' | 'certificate' | 'extra'>

/** The list shows secrets masked; saved again, they would replace the real ones. */
export function refuseMasks({ extra, ...given }: Credentials): void {
  const masked =
    Object.entries(columns).find(([, column]) => isMask(given[column]))?.[0] ??
    Object.keys(extra)
      .filter((key) => isMask(extra[key]))
      .map((key) => EXTRA + key)[0]
  if (masked !== undefined)
    throw new Failure(
      40002,
      `${masked} is masked, as the list shows it. Leave it out and name it in keep, or give the secret itself.`,
    )
}

/**
 * Takes the named fields from the stored record, so that a person can change one field without knowing the secrets of the others. A field
 * that is given as well is refused: one of the two is a mistake.
 */
export function withKeptFields<Given extends Credentials>(
  given: Given,
  stored: Credentials,
  keep: readonly string[],
): Given {
  const merged = { ...given, extra: { ...given.extra } }
  for (const field of keep) {
    const key = field.startsWith(EXTRA) ? field.slice(EXTRA.length) : undefined
    const column = columns[field as keyof typeof columns]
    if (key === undefined ? given[column] !== '' : Object.hasOwn(given.extra, key))
      throw new Failure(40002, `keep: ${field} is also given.`)
    if (key === undefined) merged[column] = stored[column]
    else if (Object.hasOwn(stored.extra, key)) merged.extra[key] = stored.extra[key]
  }
  return merged
}
