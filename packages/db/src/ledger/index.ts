export type { ReleasedBatch } from './batch-rows.ts'
export { cancelInbox, expireInbox, overfullInboxes, trimInboxes } from './inbox-clearing.ts'
