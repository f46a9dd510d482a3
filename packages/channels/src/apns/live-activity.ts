import { type Message, parseVerbatim } from '@herald/domain'
import type { Task } from '../channel.ts'

export type LiveActivity = NonNullable<Message['ios']['liveActivity']>

const opening = '{"aps":{'

/**
 * The payload of an event of a Live Activity. Its timestamp differs by recipient, see `slotOf`. `input-push-token` asks the device for the token
 * of the activity that it starts, without which nobody could update it; iOS before 18 ignores it.
 */
export function writeActivity(
  task: Task,
  activity: LiveActivity,
): { beforeBadge: string; afterBadge: string; timestamp: number } {
  const { message } = task
  const isStart = activity.event === 'start'
  const text = JSON.stringify({
    aps: {
      event: activity.event,
      'content-state': parsed(activity.content_state),
      'stale-date': activity.stale_date,
      'dismissal-date': activity.dismissal_date,
      'relevance-score': message.ios.relevanceScore,
      'attributes-type': activity.attributes_type,
      attributes: parsed(activity.attributes) ?? (isStart ? {} : undefined),
      'input-push-token': isStart ? 1 : undefined,
      alert: activity.alert,
    },
    task_id: String(task.taskId),
    ext: parsed(message.ext),
    url: message.url,
  })
  return {
    beforeBadge: opening,
    afterBadge: text.slice(opening.length),
    timestamp: activity.timestamp ?? task.now,
  }
}

function parsed(text: string | undefined): unknown {
  return text === undefined ? undefined : parseVerbatim(text)
}
