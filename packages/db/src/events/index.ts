export { type CourierFigures, courierFigures } from './courier-figures.ts'
export { devicesOfEvents, type EventDevice, entriesOf, entryWriter, firstAt } from './entries.ts'
export { listEntries } from './list-entries.ts'
export { MOVED_ROWS, moveOutbox, moveOutboxInTurn } from './move-outbox.ts'
export { isBefore, type Position, positionAfter, positionAt } from './position.ts'
export { type EventFilter, type EventPage, readEvents, type StoredEvent } from './read-events.ts'
export {
  type CourierLook,
  claimWebhooks,
  lookForCourier,
  noteFailure,
  noteRequest,
  releaseWebhook,
  type WebhookWork,
} from './webhook-work.ts'
export {
  type ListedWebhook,
  listWebhooks,
  MAX_WEBHOOKS,
  noteTest,
  removeWebhook,
  replayWebhook,
  type SavedWebhook,
  saveWebhook,
  type WebhookSave,
  type WebhookSettings,
  webhookTarget,
} from './webhooks.ts'
