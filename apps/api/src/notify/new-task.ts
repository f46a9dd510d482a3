import { type Audience, defaultSequence, type Message, type NewTask } from '@herald/domain'
import type { z } from 'zod'
import type { MessageFields } from './message-schema.ts'
import type { setting } from './setting-schema.ts'

const DEFAULT_TTL = 86_400

/** A checked request in the form the pipeline works with. `ext` is the caller's text of it. */
export function newTask(
  scope: { appId: string; groupId?: number },
  input: { audience: Audience; setting?: z.output<typeof setting>; message: MessageFields },
  ext: string | undefined,
): NewTask {
  const options = input.setting ?? {}
  return {
    ...scope,
    requestId: options.request_id,
    audience: input.audience,
    strategy: options.distribution_strategy ?? 'combined',
    sequence: options.ospush_sequence ?? [...defaultSequence],
    message: messageOf(input.message, ext),
    messageClass: options.message_class,
    lane: options.priority,
    speed: options.speed,
    ttl: options.ttl ?? DEFAULT_TTL,
  }
}

function messageOf(fields: MessageFields, ext: string | undefined): Message {
  const { ios, huawei, honor, xiaomi, oppo, vivo, flyme } = fields
  return {
    type: fields.type ?? 'text',
    title: fields.title,
    body: fields.body,
    attachmentUrl: fields.attachment_url,
    bigText: fields.big_text,
    badge: badgeOf(fields.badge ?? '+1'),
    ext: fields.ext === undefined ? undefined : ext,
    showBegin: fields.show_begin_time,
    showEnd: fields.show_end_time,
    ios: {
      sound: ios?.sound,
      contentAvailable: ios?.content_available,
      mutableContent: ios?.mutable_content,
      category: ios?.category,
      threadId: ios?.thread_id,
      subtitle: ios?.subtitle,
      apnsCollapseId: ios?.apns_collapse_id,
    },
    android: clickOf(fields.android),
    huawei: {
      ...clickOf(huawei),
      badgeClass: huawei?.badge_class,
      category: huawei?.category,
      importance: huawei?.importance,
      urgency: huawei?.urgency,
    },
    honor: { ...clickOf(honor), badgeClass: honor?.badge_class, importance: honor?.importance },
    xiaomi: {
      ...clickOf(xiaomi),
      templateId: xiaomi?.template_id,
      templateParam: xiaomi?.template_param,
    },
    oppo: {
      ...clickOf(oppo),
      category: oppo?.category,
      notifyLevel: oppo?.notify_level,
      privateMsgTemplateId: oppo?.private_msg_template_id,
      privateTitleParameters: oppo?.private_title_parameters,
      privateContentParameters: oppo?.private_content_parameters,
    },
    vivo: {
      ...clickOf(vivo),
      pushMode: vivo?.push_mode as 0 | 1 | undefined,
      classification: vivo?.classification as 0 | 1 | undefined,
      category: vivo?.category,
    },
    flyme: { ...clickOf(flyme), noticeMsgType: flyme?.notice_msg_type },
    fcm: clickOf(fields.fcm),
  }
}

function badgeOf(text: string): Message['badge'] {
  return text.startsWith('+')
    ? { kind: 'add', count: Number(text.slice(1)) }
    : { kind: 'set', count: Number(text) }
}

function clickOf(fields: MessageFields['fcm']) {
  return {
    sound: fields?.sound,
    channelId: fields?.channel_id,
    clickAction: fields?.click_action,
    intent: fields?.intent,
  }
}
