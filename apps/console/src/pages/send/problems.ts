import { refusedClickSchemes } from '@herald/domain'
import { isJsonObject } from '../../calculations/json-object.ts'
import { secondsOf } from '../../calculations/local-time.ts'
import { MAX_VALUES } from './audience-list.ts'
import { audienceOf, type Draft, hasAudience, isBlankMessage } from './draft.ts'
import { type FieldName, placeOf, platformField } from './fields.ts'
import { platforms } from './platform-fields.ts'

export type ProblemKind =
  | 'audienceMissing'
  | 'audienceTooLong'
  | 'audienceNumber'
  | 'messageBlank'
  | 'notInteger'
  | 'notNumber'
  | 'link'
  | 'address'
  | 'pictureMissing'
  | 'pictureType'
  | 'json'
  | 'badge'
  | 'tooManyBytes'
  | 'beginPast'
  | 'endPast'
  | 'endBeforeBegin'

/** What is wrong with a field; `values` are the parts of the sentence. */
export type Problem = { field: FieldName; kind: ProblemKind; values?: Record<string, string | number> }

/** The checks of the form itself, in the order of the fields. The API reports all other problems. `now` in milliseconds. */
export function problemsOf(draft: Draft, now: number): Problem[] {
  const problems = [
    ...messageProblems(draft),
    ...audienceProblems(draft),
    ...timeProblems(draft, now),
    ...numberProblem('ttl', draft.ttl, 0, 2_592_000),
    ...numberProblem('speed', draft.speed, 1, 1_000_000),
    ...platformProblems(draft),
  ]
  return problems.sort((a, b) => placeOf(a.field) - placeOf(b.field))
}

function messageProblems(draft: Draft): Problem[] {
  const problems: Problem[] = []
  const attachment = draft.attachmentUrl.trim()
  if (isBlankMessage(draft)) problems.push({ field: 'title', kind: 'messageBlank' })
  if (draft.type === 'image' && attachment === '')
    problems.push({ field: 'attachmentUrl', kind: 'pictureMissing' })
  else if (attachment !== '' && !isAddress(attachment, /^https?:$/))
    problems.push({ field: 'attachmentUrl', kind: 'address' })
  else if (draft.type === 'image' && !/\.(jpe?g|png)$/i.test(new URL(attachment).pathname))
    problems.push({ field: 'attachmentUrl', kind: 'pictureType' })
  const url = draft.url.trim()
  if (url !== '' && (!isAddress(url, /./) || refusedClickSchemes.has(new URL(url).protocol.slice(0, -1))))
    problems.push({ field: 'url', kind: 'link' })
  if (draft.badge.trim() !== '' && !/^\+?\d{1,9}$/.test(draft.badge.trim()))
    problems.push({ field: 'badge', kind: 'badge' })
  if (new TextEncoder().encode(draft.collapseKey.trim()).length > 64)
    problems.push({ field: 'collapseKey', kind: 'tooManyBytes', values: { max: 64 } })
  if (draft.ext.trim() !== '' && !isJsonObject(draft.ext)) problems.push({ field: 'ext', kind: 'json' })
  return problems
}

function isAddress(text: string, protocol: RegExp): boolean {
  return URL.canParse(text) && protocol.test(new URL(text).protocol)
}

function audienceProblems(draft: Draft): Problem[] {
  const list = audienceOf(draft)
  if (!hasAudience(draft)) return [{ field: 'audience', kind: 'audienceMissing' }]
  if (list.length > MAX_VALUES)
    return [{ field: 'audience', kind: 'audienceTooLong', values: { n: list.length, max: MAX_VALUES } }]
  const wrong = draft.audienceKind === 'user_id' ? list.find((value) => !isInt64(value)) : undefined
  return wrong === undefined
    ? []
    : [{ field: 'audience', kind: 'audienceNumber', values: { value: wrong.slice(0, 40) } }]
}

function isInt64(text: string): boolean {
  if (!/^-?\d{1,19}$/.test(text)) return false
  const value = BigInt(text)
  return value >= -(2n ** 63n) && value < 2n ** 63n
}

function timeProblems({ beginAt, endAt }: Draft, now: number): Problem[] {
  const begin = secondsOf(beginAt)
  const end = secondsOf(endAt)
  const seconds = now / 1000
  const problems: Problem[] = []
  // The API would send at once, which is not intended when a time is entered. The field has no seconds, so the present minute is allowed.
  if (begin !== undefined && begin <= seconds - 60) problems.push({ field: 'beginAt', kind: 'beginPast' })
  if (end !== undefined && end <= seconds) problems.push({ field: 'endAt', kind: 'endPast' })
  else if (begin !== undefined && end !== undefined && end <= begin)
    problems.push({ field: 'endAt', kind: 'endBeforeBegin' })
  return problems
}

function numberProblem(field: FieldName, text: string, min: number, max: number): Problem[] {
  const trimmed = text.trim()
  if (trimmed === '') return []
  const value = /^\d{1,10}$/.test(trimmed) ? Number(trimmed) : Number.NaN
  return value >= min && value <= max ? [] : [{ field, kind: 'notInteger', values: { min, max } }]
}

function platformProblems({ platforms: values }: Draft): Problem[] {
  return platforms.flatMap(({ name: platform, fields }) =>
    fields.flatMap((field): Problem[] => {
      const text = values[platform]?.[field.name]?.trim() ?? ''
      if (text === '') return []
      const name = platformField(platform, field.name)
      if (field.type === 'object') return isJsonObject(text) ? [] : [{ field: name, kind: 'json' }]
      if (field.type !== 'number') return []
      if (field.whole) return numberProblem(name, text, field.min, field.max)
      const value = Number(text)
      return value >= field.min && value <= field.max
        ? []
        : [{ field: name, kind: 'notNumber', values: { min: field.min, max: field.max } }]
    }),
  )
}
