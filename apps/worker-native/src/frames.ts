import { fieldsOf, fieldsOfMessage, type Message } from '@herald/domain'
import { heartbeatSeconds } from './protocol.ts'

export const welcomeFrame = JSON.stringify({ op: 'welcome', heartbeat: heartbeatSeconds })
/** Browsers do not show pings to a page: without this frame, an idle client cannot tell that its gateway is gone. */
export const beatFrame = Buffer.from(JSON.stringify({ op: 'beat' }))

/**
 * Returns the frame of a message, with the field names of the HTTP interface. The text of `ext` is sent unchanged. A withdrawal is a cmd,
 * which clients that do not know it do not show.
 */
export function pushFrame(taskId: number, message: Message): string {
  const { recall } = message
  if (recall?.withdraw)
    return JSON.stringify({
      op: 'push',
      task_id: taskId,
      message: { type: 'cmd', recalls: recall.taskId },
    })
  const fields = JSON.stringify(messageFields(message))
  const body = message.ext === undefined ? fields : `${fields.slice(0, -1)},"ext":${message.ext}}`
  return `{"op":"push","task_id":${taskId},"message":${body}}`
}

function messageFields(message: Message): object {
  return {
    ...fieldsOfMessage(message),
    replaces: message.recall?.taskId,
    ios: orUndefined(fieldsOf('ios', message.ios)),
    android: orUndefined(fieldsOf('android', message.android)),
  }
}

function orUndefined(fields: object): object | undefined {
  return Object.values(fields).some((value) => value !== undefined) ? fields : undefined
}
