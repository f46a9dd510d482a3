export {
  type AcceptedTask,
  acceptTasks,
  findByRequestId,
  type TaskToAccept,
} from './accept.ts'
export {
  type AudienceScope,
  deviceIdBounds,
  devicePage,
  devicesById,
  resolveSmallAudiences,
} from './audience.ts'
export { assignBadges, type BadgeWish } from './badges.ts'
export { balanceSql, findImbalances, type Imbalance } from './balance.ts'
export { bind, type NewBinding, type Platform, unbind } from './bindings.ts'
export {
  type CertificatePlace,
  type CertificateState,
  certificateAt,
  certificateById,
  certificatesOf,
  closeCertificate,
  type Environment,
  type NewCertificate,
  noteCertificateError,
  removeCertificate,
  reopenCertificate,
  type StoredCertificate,
  saveCertificate,
} from './certificates.ts'
export { type BatchKey, batchName, type ClaimedBatch, claimBatches, renewLeases, tokensOf } from './claim.ts'
export { type Database, type DatabaseOptions, openDatabase } from './database.ts'
export {
  alignPaused,
  channelsWithUnclaimed,
  closeCancelledAccepted,
  closeDone,
  finishTasks,
  freeDeadLeases,
  type Outlet,
  pacedTasks,
  readyOutlets,
  releasePaced,
  releaseReady,
  unclaimed,
} from './feeder.ts'
export { type GovernorView, governorOf, type PermitAnswer, type Permits, takePermits } from './governor.ts'
export { ensurePartitions, timeOfTaskId } from './partitions.ts'
export type { ReleasedBatch } from './plan-rows.ts'
export {
  beginDueTask,
  closePlanning,
  type PlannedTask,
  planPage,
  type SlicePage,
  tasksById,
} from './planning.ts'
export { type ReceiptToRecord, recordReceipts } from './receipts.ts'
export { applyRetention, type RetentionReport } from './retention.ts'
export { isPassing, isUnreachable, type RetryOptions, retrying } from './retrying.ts'
export { createSealer, SealBroken, type Sealer } from './seal.ts'
export {
  batchVersion,
  type SettleAnswer,
  type Settlement,
  settleBatches,
  statusLetters,
  unretireWindow,
} from './settle.ts'
export {
  type ControlAnswer,
  cancelTask,
  type FailureGroup,
  listTasks,
  pauseTask,
  resumeTask,
  type TaskCounters,
  type TaskPage,
  type TaskScope,
  type TaskView,
  taskDetails,
  taskFailures,
} from './tasks.ts'
export { type Minted, taskMemory, vendorSession } from './vendor-sessions.ts'
