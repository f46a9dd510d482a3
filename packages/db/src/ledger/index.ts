export { type AuditDetail, type AuditEntry, addAudit, audited, type By } from './audit-rows.ts'
export type { ReleasedBatch } from './batch-rows.ts'
export {
  cancelInbox,
  emptyInboxes,
  expireInbox,
  inboxesOfErased,
  inboxesOfRemoved,
  overfullInboxes,
  trimInboxes,
} from './inbox-clearing.ts'
