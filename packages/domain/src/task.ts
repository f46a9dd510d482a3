import type { SequenceWord } from './channel-names.ts'
import type { EventLevel } from './events.ts'
import type { Message, MessageClass } from './message.ts'

export const strategies = ['combined', 'nativepush_only', 'ospush_only'] as const
export type Strategy = (typeof strategies)[number]

export type Lane = 'high' | 'normal'

/** The recipients a caller asks for. User ids are int64, hence bigint. */
export type Audience =
  | { kind: 'all' }
  | { kind: 'tag'; tags: string[] }
  | { kind: 'alias'; aliases: string[] }
  | { kind: 'user_id'; userIds: bigint[] }
  | { kind: 'push_token'; pushTokens: string[] }
  /** Devices that show one of these Live Activities. */
  | { kind: 'activity'; activities: string[] }
  /** The same in stored tasks, which must not contain credentials. */
  | { kind: 'push_token_hash'; hashes: string[] }
  /** Of a recall: the devices that the task was sent to. */
  | { kind: 'recall'; taskId: number }

/** A notify request in normal form. */
export type NewTask = {
  appId: string
  groupId?: number
  requestId?: string
  audience: Audience
  strategy: Strategy
  sequence: SequenceWord[]
  message: Message
  /** Default: the certificate's class, or marketing. */
  messageClass?: MessageClass
  /** Default: high for up to 1000 devices, otherwise normal. */
  lane?: Lane
  /** Devices per second over all channels. */
  speed?: number
  /** Seconds from the start of the task; 0 = only devices that can be reached now. */
  ttl: number
  campaign?: string
  /** Default: 0. */
  events?: EventLevel
  /** Who sent it and from where, for the audit. */
  actor?: string
  address?: string
}

/** The states that answers show. */
export const shownTaskStates = [
  'scheduled',
  'accepted',
  'planning',
  'sending',
  'paused',
  'cancelling',
  'finished',
  'cancelled',
] as const
export type ShownTaskState = (typeof shownTaskStates)[number]

/** Audiences up to this many devices are planned in the commit that accepts the task. */
export const smallAudience = 1000
/** Maximum number of recipients of one batch and of one job. */
export const batchSize = 1000
