export {
  type AcceptedTask,
  AcceptInDoubt,
  acceptTasks,
  findByRequestId,
  PartlyAccepted,
  type TaskToAccept,
} from './accept.ts'
export { devicePage, devicesById, resolveSmallAudiences } from './audience.ts'
export { assignBadges } from './badges.ts'
export {
  callbackKeys,
  devicesOfTokens,
  forgetCallbacks,
  leaseCallbacks,
  type NewCallback,
  type StoredCallback,
  storeCallbacks,
} from './callbacks.ts'
export { batchName, type ClaimedBatch, claimBatches, renewLeases, tokensOf } from './claim.ts'
export { findDueWork } from './due-work.ts'
export { pacedTasks, readyDestinations, releasePaced, releaseReady } from './feeder.ts'
export {
  beginDueTask,
  finishPlanning,
  type PlannedTask,
  PlanningFailed,
  planPage,
  tasksById,
} from './planning.ts'
export { findReceipts, findRecipients, type ReceiptToRecord, recordReceipts } from './receipts.ts'
export { applyRetention } from './retention.ts'
export { type Settlement, settleBatches } from './settle.ts'
export { settleUntilKnown } from './settle-until-known.ts'
export {
  alignPausedBatches,
  cancelAccepted,
  channelsWithUnclaimed,
  finishTasks,
  reclaimExpiredLeases,
  settleEnded,
  takeUnclaimed,
} from './sweeping.ts'
export {
  type ControlResult,
  cancelTask,
  listTasks,
  pauseTask,
  resumeTask,
  type TaskView,
  taskDetails,
  taskFailures,
} from './tasks.ts'
