import type { By } from '@herald/db/ledger'
import {
  type Audience,
  defaultSequence,
  eventLevel,
  type Message,
  type NewTask,
  type ObjectName,
  objectNames,
  optionsOf,
  type Strategy,
  type WantedEvents,
} from '@herald/domain'
import type { z } from 'zod'
import type { MessageFields } from './message-schema.ts'
import type { setting } from './setting-schema.ts'

/** For applications without settings of their own. */
export const pushDefaults = { strategy: 'combined', ttl: 86_400 } as const

/** Converts a validated request into a task. `defaults` are the application's. `ext` is the original text of message.ext. */
export function newTask(
  scope: { appId: string; groupId?: number },
  defaults: { defaultStrategy?: Strategy; defaultTtl?: number; wantedEvents?: readonly WantedEvents[] },
  input: { audience: Audience; setting?: z.output<typeof setting>; message: MessageFields },
  ext: string | undefined,
  by?: By,
): NewTask {
  const options = input.setting ?? {}
  return {
    ...scope,
    requestId: options.request_id,
    audience: input.audience,
    // Only the vendor of the device can update its screen.
    strategy: input.message.ios?.live_activity
      ? 'ospush_only'
      : (options.distribution_strategy ?? defaults.defaultStrategy ?? pushDefaults.strategy),
    sequence: options.ospush_sequence ?? [...defaultSequence],
    message: messageOf(input.message, ext),
    messageClass: options.message_class,
    lane: options.priority,
    speed: options.speed,
    ttl: options.ttl ?? defaults.defaultTtl ?? pushDefaults.ttl,
    campaign: options.campaign,
    events: eventLevel(defaults.wantedEvents ?? [], options),
    ...by,
  }
}

/** Shared, because most objects of most messages are absent: each would be one more object with a key for every field. */
const none = Object.freeze({})
const noOptions = Object.fromEntries(objectNames.map((name) => [name, none])) as Pick<Message, ObjectName>

export function messageOf(fields: MessageFields, ext: string | undefined): Message {
  const message: Message = {
    ...noOptions,
    type: fields.type ?? 'text',
    title: fields.title,
    body: fields.body,
    attachmentUrl: fields.attachment_url,
    bigText: fields.big_text,
    badge: badgeOf(fields.badge ?? '+1'),
    ...(fields.badge !== undefined && { badgeNamed: true as const }),
    ext: fields.ext === undefined ? undefined : ext,
    showBegin: fields.show_begin_time,
    showEnd: fields.show_end_time,
    url: fields.url,
    collapseKey: fields.collapse_key,
    foreground: fields.foreground,
    urgent: fields.urgent,
  }
  for (const name of objectNames)
    if (fields[name] !== undefined) message[name] = optionsOf(name, fields[name]) as never
  return message
}

function badgeOf(text: string): Message['badge'] {
  return text.startsWith('+')
    ? { kind: 'add', count: Number(text.slice(1)) }
    : { kind: 'set', count: Number(text) }
}
