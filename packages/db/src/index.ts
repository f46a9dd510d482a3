export {
  type AcceptedTask,
  acceptTasks,
  findByRequestId,
  type TaskToAccept,
} from './accept.ts'
export {
  type Application,
  createApplication,
  findApplication,
  isApplicationSecret,
  listApplications,
  type NewApplication,
  revokeAdminTokens,
} from './applications.ts'
export {
  type AudienceScope,
  deviceIdBounds,
  devicePage,
  devicesById,
  resolveSmallAudiences,
} from './audience.ts'
export { type AuditEntry, type AuditRecord, listAudit, recordAudit } from './audit.ts'
export { type Backlog, readBacklog, readStanding, type Standing } from './backlog.ts'
export { assignBadges, type BadgeWish } from './badges.ts'
export { type BalanceSize, balanceSql, countBalanced, findImbalances, type Imbalance } from './balance.ts'
export { bind, type NewBinding, type Platform, unbind } from './bindings.ts'
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
  type CertificateState,
  certificateAt,
  certificateById,
  certificatesOf,
  certificatesStamp,
  closeCertificate,
  type Environment,
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
export { type BatchKey, batchName, type ClaimedBatch, claimBatches, renewLeases, tokensOf } from './claim.ts'
export {
  type CertificateView,
  type Overview,
  type QueueView,
  readOverview,
  readSettledTotal,
  type SettledTotal,
} from './console-overview.ts'
export {
  type ConsoleSessionRow,
  closeConsoleSession,
  findConsoleSession,
  openConsoleSession,
} from './console-sessions.ts'
export { type Database, type DatabaseOptions, openDatabase, poolSizes } from './database.ts'
export {
  type DeviceImport,
  type ImportBinding,
  type ImportDevice,
  type ImportResult,
  openDeviceImport,
} from './device-import.ts'
export {
  claimDevice,
  type Device,
  type DeviceDetails,
  type DeviceFilter,
  findDevice,
  listDevices,
  registerDevice,
  removeDevice,
  setAlias,
  setBadge,
} from './devices.ts'
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
export {
  addMembers,
  createGroup,
  type Group,
  isGroup,
  isMember,
  listGroups,
  listMembers,
  removeGroup,
  removeMembers,
} from './groups.ts'
export {
  cancelInbox,
  expireInbox,
  inboxSize,
  overfullInboxes,
  sendFromInbox,
  trimInboxes,
  type Waiting,
  waitingInbox,
} from './inbox.ts'
export { sharedKey } from './instance-keys.ts'
export { type Lead, takeLead } from './leadership.ts'
export { countLogin, forgiveLogin, loginLimit } from './login-failures.ts'
export { type MigrateOptions, type MigrationState, migrate, migrationState } from './migrate.ts'
export { MigrationError } from './migrations.ts'
export { type Acknowledgement, acknowledge } from './native-acknowledge.ts'
export {
  type DueFallback,
  type FallbackPlan,
  fallBackDue,
  type OrphanedBatch,
  settleOrphans,
} from './native-fallback.ts'
export { movedSince, type NativeSettlement, receiptsAmong, settleNative } from './native-settle.ts'
export { ensurePartitions, timeOfTaskId } from './partitions.ts'
export type { ReleasedBatch } from './plan-rows.ts'
export {
  beginDueTask,
  closePlanning,
  type PlannedTask,
  PlanningFailed,
  planPage,
  type SlicePage,
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
export { feelPulse, type Pulse } from './pulse.ts'
export { type ReceiptToRecord, recordReceipts } from './receipts.ts'
export { type ReportedToken, retireReported } from './reported-tokens.ts'
export { type ResealReport, resealSecrets, sealedTables } from './reseal.ts'
export { applyRetention, type RetentionReport } from './retention.ts'
export { codeOf, isPassing, isUnreachable, type RetryOptions, retrying } from './retrying.ts'
export { createSealer, SealBroken, type Sealer } from './seal.ts'
export {
  batchVersion,
  type SettleAnswer,
  type Settlement,
  settleBatches,
} from './settle.ts'
export type { Runner } from './statement.ts'
export { tendSuspects, unretireWindow } from './suspects.ts'
export { addTags, removeTags, tagsOf, tagsPerDevice } from './tags.ts'
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
export {
  changePassword,
  createUser,
  findUserById,
  findUserByLogin,
  findUserByName,
  listUsers,
  type NewUser,
  removeUser,
  revokeUserTokens,
  type User,
  type UserField,
  type UserScope,
  type UserWithPassword,
  userTokenVersion,
} from './users.ts'
export { type Minted, taskMemory, vendorSession } from './vendor-sessions.ts'
