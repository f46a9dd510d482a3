import type { SequenceWord } from './channel-names.ts'
import type { Message, MessageClass } from './message.ts'

export const strategies = ['combined', 'nativepush_only', 'ospush_only'] as const
export type Strategy = (typeof strategies)[number]

export type Lane = 'high' | 'normal'

/** Whom a task is for. User ids are int64 and so travel as bigint. */
export type Audience =
  | { kind: 'all' }
  | { kind: 'tag'; tags: string[] }
  | { kind: 'alias'; aliases: string[] }
  | { kind: 'user_id'; userIds: bigint[] }
  | { kind: 'push_token'; pushTokens: string[] }

/** A notify request in normal form. */
export type NewTask = {
  appId: string
  groupId?: number
  requestId?: string
  audience: Audience
  strategy: Strategy
  sequence: SequenceWord[]
  message: Message
  /** undefined = the certificate's default, else marketing. */
  messageClass?: MessageClass
  /** undefined = high up to 1000 resolved devices, else normal. */
  lane?: Lane
  /** Devices per second over all channels. */
  speed?: number
  /** Seconds from the beginning; 0 = only if reachable now. */
  ttl: number
}

export const taskStates = ['accepted', 'planning', 'sending', 'finished', 'cancelled'] as const
export type TaskState = (typeof taskStates)[number]

/** Up to this many devices are planned in the commit that accepts the task. */
export const smallAudience = 1000
/** Most recipients of one batch and of one job. */
export const batchSize = 1000
