/** What an event may be about, by its name in the HTTP interface. */
export const eventNames = [
  'task.finished',
  'task.cancelled',
  'device.sent',
  'device.failed',
  'device.expired',
  'device.received',
  'device.clicked',
  'token.retired',
  'certificate.closed',
  'certificate.reopened',
  'certificate.suspect',
  'certificate.expiring',
] as const
export type EventName = (typeof eventNames)[number]

/** Of a task: 0 no events, 1 events of the task, 2 also events of its devices. */
export type EventLevel = 0 | 1 | 2

/** What a webhook, or a server that reads events by calls, wants of the events of tasks; without a campaign those of all tasks. */
export type WantedEvents = { events: readonly string[]; campaign?: string }

/**
 * The events of a new task, given what its application wants. Events of devices are many, so they are written only for tasks
 * that ask for them, and for a campaign that a webhook names.
 */
export function eventLevel(
  webhooks: readonly WantedEvents[],
  task: { events?: boolean; campaign?: string },
): EventLevel {
  if (task.events) return 2
  const concerned = webhooks.filter(({ campaign }) => campaign === undefined || campaign === task.campaign)
  const isWanted = (webhook: WantedEvents, prefix: string) =>
    webhook.events.some((name) => name.startsWith(prefix))
  if (concerned.some((webhook) => webhook.campaign !== undefined && isWanted(webhook, 'device.'))) return 2
  return concerned.some((webhook) => isWanted(webhook, 'task.')) ? 1 : 0
}
