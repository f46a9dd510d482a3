export {
  type AcceptedTask,
  AcceptInDoubt,
  acceptTasks,
  findByRequestId,
  PartlyAccepted,
  type TaskToAccept,
} from './accept.ts'
export {
  type Application,
  createApplication,
  findApplication,
  isApplicationSecret,
  listApplications,
  renewApplicationSecret,
  revokeAdminTokens,
} from './applications.ts'
export { devicePage, devicesById, resolveSmallAudiences } from './audience.ts'
export { type AuditEntry, recordAudit } from './audit.ts'
export { type Backlog, readBacklog, readStanding, type Standing } from './backlog.ts'
export { assignBadges } from './badges.ts'
export { type BalanceSize, countBalanced, findImbalances, type Imbalance } from './balance.ts'
export { bind, unbind } from './bindings.ts'
export {
  callbackKeys,
  devicesOfTokens,
  forgetCallbacks,
  leaseCallbacks,
  type NewCallback,
  type StoredCallback,
  storeCallbacks,
} from './callbacks.ts'
export {
  type CertificatePlace,
  certificateAt,
  certificateById,
  certificatesOf,
  certificatesStamp,
  closeCertificate,
  type NewCertificate,
  noteCertificateError,
  removeCertificate,
  reopenCertificate,
  type StoredCertificate,
  saveCertificate,
} from './certificates.ts'
export {
  type CertificateHealth,
  certificateHealth,
  examineServer,
  type SealHealth,
  type ServerFacts,
  sealHealth,
} from './checkup.ts'
export { batchName, type ClaimedBatch, claimBatches, renewLeases, tokensOf } from './claim.ts'
export { type Overview, readOverview, readSettledTotal } from './console-overview.ts'
export {
  type ConsoleSessionRow,
  closeConsoleSession,
  findConsoleSession,
  openConsoleSession,
} from './console-sessions.ts'
export { type Database, openDatabase, poolSizes } from './database.ts'
export { type DeviceImport, type ImportDevice, openDeviceImport } from './device-import.ts'
export {
  claimDevice,
  type Device,
  type DeviceDetails,
  findDevice,
  listDevices,
  registerDevice,
  removeDevice,
  setAlias,
  setBadge,
} from './devices.ts'
export { environmentNumber, environmentOf } from './environments.ts'
export { pacedTasks, readyOutlets, releasePaced, releaseReady } from './feeder.ts'
export { governorOf, returnQuota, takePermits } from './governor.ts'
export {
  addMembers,
  createGroup,
  isGroup,
  isMember,
  listGroups,
  listMembers,
  removeGroup,
  removeMembers,
} from './groups.ts'
export type { ImportBinding } from './import-bindings.ts'
export { sendFromInbox, type Waiting, waitingInbox } from './inbox.ts'
export { cancelInbox, expireInbox, overfullInboxes, trimInboxes } from './inbox-clearing.ts'
export { sharedKey } from './instance-keys.ts'
export { type Lead, takeLead } from './leadership.ts'
export { countLogin, forgiveLogin } from './login-failures.ts'
export { type MigrationState, migrate, migrationState } from './migrate.ts'
export { MigrationError } from './migrations.ts'
export { type Acknowledgement, acknowledge } from './native-acknowledge.ts'
export { type DueFallback, type FallbackPlan, fallBackDue } from './native-fallback.ts'
export { type OrphanedBatch, settleOrphans } from './native-orphans.ts'
export { movedSince, type NativeSettlement, settleNative } from './native-settle.ts'
export { ensurePartitions, timeOfTaskId } from './partitions.ts'
export type { ReleasedBatch } from './plan-rows.ts'
export {
  beginDueTask,
  closePlanning,
  type PlannedTask,
  PlanningFailed,
  planPage,
  tasksById,
} from './planning.ts'
export {
  alignPresence,
  type Connection,
  dropPresence,
  fenceNodes,
  type Greeted,
  gatewayNodes,
  greetDevices,
  joinNode,
  leaveNode,
  renewNode,
} from './presence.ts'
export { feelPulse } from './pulse.ts'
export { type ReceiptToRecord, receiptsAmong, recordReceipts } from './receipts.ts'
export { retireReported } from './reported-tokens.ts'
export { resealSecrets } from './reseal.ts'
export { applyRetention } from './retention.ts'
export { codeOf, isConnectionLost, isPassing, isUnreachable, retrying } from './retrying.ts'
export { createSealer, type Sealer } from './seal.ts'
export { type Settlement, settleBatches } from './settle.ts'
export { settleUntilKnown } from './settle-until-known.ts'
export type { Runner } from './statement.ts'
export { tendSuspects, unretireWindow } from './suspects.ts'
export {
  alignPaused,
  channelsWithUnclaimed,
  closeCancelledAccepted,
  closeDone,
  finishTasks,
  freeDeadLeases,
  unclaimed,
} from './sweeping.ts'
export { addTags, removeTags, tagsOf, tagsPerDevice } from './tags.ts'
export {
  type ControlAnswer,
  cancelTask,
  listTasks,
  pauseTask,
  resumeTask,
  type TaskView,
  taskDetails,
  taskFailures,
} from './tasks.ts'
export {
  changePassword,
  createUser,
  findUserById,
  findUserByLogin,
  findUserByName,
  listUsers,
  removeUser,
  revokeUserTokens,
  type User,
  type UserWithPassword,
  userTokenVersion,
} from './users.ts'
export { taskMemory, vendorSession } from './vendor-sessions.ts'
