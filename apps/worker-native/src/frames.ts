import type { Message } from '@herald/domain'
import { heartbeatSeconds } from './protocol.ts'

export const welcomeFrame = JSON.stringify({ op: 'welcome', heartbeat: heartbeatSeconds })

/** The frame that brings a message to a device, in the names of the HTTP interface. The text of `ext` is never re-written. */
export function pushFrame(taskId: number, message: Message): string {
  const fields = JSON.stringify(messageFields(message))
  const body = message.ext === undefined ? fields : `${fields.slice(0, -1)},"ext":${message.ext}}`
  return `{"op":"push","task_id":${taskId},"message":${body}}`
}

function messageFields(message: Message): object {
  const { ios, android, badge } = message
  return {
    type: message.type,
    title: message.title,
    body: message.body,
    attachment_url: message.attachmentUrl,
    big_text: message.bigText,
    badge: badge.kind === 'add' ? `+${badge.count}` : String(badge.count),
    show_begin_time: message.showBegin,
    show_end_time: message.showEnd,
    ios: orNothing({
      sound: ios.sound,
      content_available: ios.contentAvailable,
      mutable_content: ios.mutableContent,
      category: ios.category,
      thread_id: ios.threadId,
      subtitle: ios.subtitle,
      apns_collapse_id: ios.apnsCollapseId,
    }),
    android: orNothing({
      sound: android.sound,
      channel_id: android.channelId,
      click_action: android.clickAction,
      intent: android.intent,
    }),
  }
}

function orNothing(fields: object): object | undefined {
  return Object.values(fields).some((value) => value !== undefined) ? fields : undefined
}
