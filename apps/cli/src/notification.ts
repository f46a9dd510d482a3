import type { Audience, Message, Notification, Setting } from '@herald/client'
import { UsageFailure } from './failure.ts'

/** Flags of a push, parsed; the server validates their values. */
export type MessageFlags = {
  type?: Message['type']
  title?: string
  body?: string
  image?: string
  bigText?: string
  badge?: string
  ext?: Record<string, unknown>
  begin?: number
  end?: number
  link?: string
  collapseKey?: string
  foreground?: Message['foreground']
  urgent?: true
}

export type SettingFlags = {
  requestId?: string
  strategy?: Setting['distribution_strategy']
  sequence?: string
  speed?: number
  priority?: Setting['priority']
  ttl?: number
  class?: Setting['message_class']
  campaign?: string
  events?: true
}

export type AudienceFlags = {
  all?: true
  tag?: string[]
  alias?: string[]
  user?: bigint[]
  pushToken?: string[]
  activity?: string[]
}

/** Exactly one kind of audience: two kinds would suggest an intersection, which the API does not have. Pure. */
export function audienceOf({ all, tag, alias, user, pushToken, activity }: AudienceFlags): Audience {
  const given: Audience[] = []
  if (all) given.push('all')
  if (tag) given.push({ tag })
  if (alias) given.push({ alias })
  if (user) given.push({ user_id: user })
  if (pushToken) given.push({ push_token: pushToken })
  if (activity) given.push({ activity })
  if (given.length !== 1)
    throw new UsageFailure(
      `${given.length === 0 ? 'The audience is missing' : 'There is more than one audience'}; use one of --all, --tag, --alias, --user, --push-token, --activity.`,
    )
  return given[0]!
}

/** Flags override the fields of the file. */
export function messageOf(flags: MessageFlags, file: Record<string, unknown> = {}): Message {
  return {
    ...file,
    ...defined({
      type: flags.type,
      title: flags.title,
      body: flags.body,
      attachment_url: flags.image,
      big_text: flags.bigText,
      badge: flags.badge,
      ext: flags.ext,
      show_begin_time: flags.begin,
      show_end_time: flags.end,
      ...(flags.link !== undefined && { click_action: 'url' as const, url: flags.link }),
      collapse_key: flags.collapseKey,
      foreground: flags.foreground,
      urgent: flags.urgent,
    }),
  }
}

export function settingOf(flags: SettingFlags): Setting {
  return defined({
    request_id: flags.requestId,
    distribution_strategy: flags.strategy,
    ospush_sequence: flags.sequence?.split(',').map((word) => word.trim()) as Setting['ospush_sequence'],
    speed: flags.speed,
    priority: flags.priority,
    ttl: flags.ttl,
    message_class: flags.class,
    campaign: flags.campaign,
    events: flags.events,
  })
}

export function notificationOf(
  flags: AudienceFlags & MessageFlags & SettingFlags,
  file?: Record<string, unknown>,
): Notification {
  const setting = settingOf(flags)
  return {
    audience: audienceOf(flags),
    message: messageOf(flags, file),
    ...(Object.keys(setting).length > 0 && { setting }),
  }
}

function defined<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T
}
