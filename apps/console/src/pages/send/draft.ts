import type { SequenceWord } from '@herald/domain'
import { defaultSequence } from '@herald/domain'
import { isJsonObject } from '../../parts/json-object.ts'
import type { PlatformValues } from './platform-fields.ts'

export type AudienceKind = 'all' | 'tag' | 'alias' | 'user_id' | 'push_token'

/** A push while it is being written: every field as it stands in its input. */
export type Draft = {
  type: 'text' | 'image' | 'cmd'
  title: string
  body: string
  bigText: string
  attachmentUrl: string
  badge: string
  sound: string
  ext: string
  audienceKind: AudienceKind
  audience: string[]
  strategy: 'combined' | 'nativepush_only' | 'ospush_only'
  sequence: readonly SequenceWord[]
  /** As `datetime-local` inputs have it: local time without a zone. */
  beginAt: string
  endAt: string
  ttl: string
  speed: string
  priority: '' | 'high' | 'normal'
  messageClass: '' | 'service' | 'marketing'
  requestId: string
  platforms: PlatformValues
}

/** How the parts of the form change it. */
export type Change = (fields: Partial<Draft>) => void

/** The audience begins empty and not as everyone: a slip of the hand must not reach the world. */
export const blankDraft: Draft = {
  type: 'text',
  title: '',
  body: '',
  bigText: '',
  attachmentUrl: '',
  badge: '',
  sound: '',
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
  requestId: '',
  platforms: {},
}

export type DraftProblem = 'audience' | 'ext'

/** What the form can see by itself; the API's own sentences say the rest. */
export function problemsOf(draft: Draft): DraftProblem[] {
  const problems: DraftProblem[] = []
  if (draft.audienceKind !== 'all' && draft.audience.length === 0) problems.push('audience')
  if (draft.ext.trim() !== '' && !isJsonObject(draft.ext)) problems.push('ext')
  return problems
}
