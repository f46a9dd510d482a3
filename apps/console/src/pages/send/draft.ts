import type { SequenceWord } from '@herald/domain'
import { defaultSequence } from '@herald/domain'
import { isJsonObject } from '../../calculations/json-object.ts'
import type { PlatformValues } from './platform-fields.ts'

export type AudienceKind = 'all' | 'tag' | 'alias' | 'user_id' | 'push_token'

/** The form's state: every field as the text of its input. */
export type Draft = {
  type: 'text' | 'image' | 'cmd'
  title: string
  body: string
  bigText: string
  attachmentUrl: string
  badge: string
  sound: string
  /** Opened by a tap. */
  url: string
  collapseKey: string
  foreground: '' | 'show' | 'hide'
  urgent: boolean
  ext: string
  audienceKind: AudienceKind
  audience: string[]
  strategy: 'combined' | 'nativepush_only' | 'ospush_only'
  sequence: readonly SequenceWord[]
  /** Value of a `datetime-local` input: local time without a zone. */
  beginAt: string
  endAt: string
  ttl: string
  speed: string
  priority: '' | 'high' | 'normal'
  messageClass: '' | 'service' | 'marketing'
  campaign: string
  events: boolean
  requestId: string
  platforms: PlatformValues
}

export type Change = (fields: Partial<Draft>) => void

/** The audience is empty and not `all`, so that an accidental click does not push to every device. */
export const blankDraft: Draft = {
  type: 'text',
  title: '',
  body: '',
  bigText: '',
  attachmentUrl: '',
  badge: '',
  sound: '',
  url: '',
  collapseKey: '',
  foreground: '',
  urgent: false,
  ext: '',
  audienceKind: 'tag',
  audience: [],
  strategy: 'combined',
  sequence: defaultSequence,
  beginAt: '',
  endAt: '',
  ttl: '',
  speed: '',
  priority: '',
  messageClass: '',
  campaign: '',
  events: false,
  requestId: '',
  platforms: {},
}

export type InvalidField = 'audience' | 'ext'

/** The checks of the form itself; the API reports all other problems. */
export function invalidFields(draft: Draft): InvalidField[] {
  const invalid: InvalidField[] = []
  if (draft.audienceKind !== 'all' && draft.audience.length === 0) invalid.push('audience')
  if (draft.ext.trim() !== '' && !isJsonObject(draft.ext)) invalid.push('ext')
  return invalid
}
