export {
  type AcceptedTask,
  AcceptInDoubt,
  acceptTasks,
  findByRequestId,
  findByRequestIds,
  PartlyAccepted,
  type TaskToAccept,
} from './accept.ts'
export { devicePage, devicesById, resolveSmallAudiences } from './audience.ts'
export { type CountedAudience, countAudience, type DeviceKind } from './audience-count.ts'
export { assignBadges } from './badges.ts'
export {
  beginTasks,
  type DueTask,
  type DueTasks,
  giveBackDue,
  singleToBegin,
  type TaskToBegin,
  takeDueTasks,
} from './begin.ts'
export { assignBundleBadges } from './bundle-badges.ts'
export { mayBundle } from './bundles.ts'
export {
  devicesOfTokens,
  forgetCallbacks,
  leaseCallbacks,
  type NewCallback,
  type StoredCallback,
  storeCallbacks,
} from './callbacks.ts'
export {
  batchName,
  type ClaimedBatch,
  claimBatches,
  removedAmong,
  renewLeases,
} from './claim.ts'
export { type ClaimedSingle, claimBundles, renewBundles, takeUnclaimedBundles } from './claim-bundle.ts'
export { countDaily, uncountDaily } from './daily-counts.ts'
export { dueCertificates, duePacedTasks } from './due-batches.ts'
export { type DueWork, findDueWork } from './due-work.ts'
export {
  type Destination,
  type Found,
  type MadeReady,
  makePacedReady,
  pacedTasks,
  readyCertificates,
  readyNodes,
  releaseCertificates,
  releaseReady,
  type Window,
} from './feeder.ts'
export { checkLateTasks, finishTasks, walkOpenTasks } from './finishing.ts'
export { endLateBundles, endLostBundles, leaveReleased } from './leave-bundle.ts'
export { alignPausedBatches } from './pausing.ts'
export { type PlannedTask, PlanningFailed, tasksById } from './planned-task.ts'
export { expireUnplanned, finishPlanned, finishPlanning, type PlannedPage, planPage } from './planning.ts'
export { putBackReleased } from './put-back.ts'
export {
  addRecall,
  beginRecall,
  type RecallableTask,
  recallable,
  recallSlices,
  type SentBatch,
  sentNatively,
  sentToVendors,
} from './recall.ts'
export { findReceipts, findRecipients, type ReceiptToRecord, recordReceipts } from './receipts.ts'
export { applyRetention } from './retention.ts'
export { type Settlement, settleBatches } from './settle.ts'
export { type BundleSettlement, settleBundles } from './settle-bundle.ts'
export {
  retryingUntil,
  settleBundlesUntilKnown,
  settleDeadline,
  settleUntilKnown,
} from './settle-until-known.ts'
export {
  type ChannelLane,
  cancelAccepted,
  type EndedBatches,
  failLost,
  lanesWithUnclaimed,
  leaseTime,
  MAX_ENDED,
  reclaimExpiredLeases,
  settleEnded,
  takeUnclaimed,
} from './sweeping.ts'
export { type AskedAudience, type AskedTask, taskChannels, taskRequest } from './task-request.ts'
export {
  type ControlResult,
  cancelTask,
  listTasks,
  pauseTask,
  resumeTask,
  searchTasks,
  type TaskView,
  taskDetails,
  taskFailures,
} from './tasks.ts'
export { type BindingDetails, type CurrentTokens, tokensOf } from './tokens.ts'
export { countWaitingBundles, MAX_WAITING_BUNDLES, releaseBundles } from './waiting-bundles.ts'
export { certificatesToWake, endIdleBreakers, pacedTasksToWake, wakeBatches, wakePaced } from './waking.ts'
