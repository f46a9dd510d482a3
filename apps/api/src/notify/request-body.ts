import type { AskedAudience, AskedTask } from '@herald/db/tasks'
import { fieldsOf, fieldsOfMessage, type Message, objectNames } from '@herald/domain'

/**
 * The body of POST /push/notify that makes the same push again, without its request_id. Undefined for a recall, which no such body
 * makes. It is text, because `ext` is passed on as it was written and user ids have more digits than a number keeps.
 */
export function requestBody(task: AskedTask): string | undefined {
  if (task.message.recall) return undefined
  return objectText({
    audience: audienceText(task.audience),
    setting: JSON.stringify({
      distribution_strategy: task.strategy,
      ospush_sequence: task.sequence,
      speed: task.speed ?? undefined,
      priority: task.lane ?? undefined,
      ttl: task.ttl,
      message_class: task.messageClass ?? undefined,
      campaign: task.campaign ?? undefined,
      events: task.events || undefined,
    }),
    message: messageText(task.message),
  })
}

function audienceText(audience: AskedAudience): string {
  switch (audience.kind) {
    case 'all':
      return '"all"'
    case 'tag':
      return JSON.stringify({ tag: audience.tags })
    case 'alias':
      return JSON.stringify({ alias: audience.aliases })
    case 'user_id':
      return `{"user_id":[${audience.userIds.join(',')}]}`
    case 'push_token':
      return JSON.stringify({ push_token: audience.pushTokens })
    case 'activity':
      return JSON.stringify({ activity: audience.activities })
  }
}

function messageText(message: Message): string {
  const fields = fieldsOfMessage(message)
  // The default badge is not a field of the request.
  const plain: Record<string, unknown> = { ...fields, badge: message.badgeNamed && fields.badge }
  for (const name of objectNames) {
    const object = JSON.stringify(fieldsOf(name, (message[name] ?? {}) as never))
    if (object !== '{}') plain[name] = JSON.parse(object)
  }
  const texts = Object.entries(plain).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, JSON.stringify(value)]],
  )
  return objectText({ ...Object.fromEntries(texts), ...(message.ext !== undefined && { ext: message.ext }) })
}

/** Values are JSON already. */
function objectText(fields: Record<string, string>): string {
  const entries = Object.entries(fields).map(([name, value]) => `${JSON.stringify(name)}:${value}`)
  return `{${entries.join(',')}}`
}
