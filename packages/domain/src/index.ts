export { type AuditAction, auditActions } from './audit-actions.ts'
export {
  asSentence,
  type CertificateCondition,
  conditionOf,
  healthWarnings,
  isLeftOut,
  partOf,
  type ShownBreaker,
  type ShownHealth,
  type ShownHold,
  utc,
} from './certificate-health.ts'
export {
  type Attempts,
  type ChannelState,
  channelState,
  channelStates,
  failingShare,
  isFailing,
  type RecentAttempts,
} from './channel-health.ts'
export {
  type Channel,
  cardOf,
  channelOfProvider,
  channelOfPublicName,
  channels,
  defaultSequence,
  type Environment,
  environmentNumber,
  environmentOf,
  providerNamed,
  providerOf,
  publicChannelNames,
  publicName,
  type SequenceWord,
  sequenceWords,
  upsChannels,
  type VendorChannel,
  vendorChannels,
} from './channel-names.ts'
export { refusedClickSchemes } from './click-schemes.ts'
export { type DeviceEvents, deviceEvents } from './device-events.ts'
export { type EventLevel, type EventName, eventLevel, eventNames, type WantedEvents } from './events.ts'
export { parseExact, parseVerbatim, toJson } from './exact-json.ts'
export {
  type Fold,
  foldAttempt,
  type NextPlan,
  type RecipientResult,
  type SortedResults,
  sortResults,
  triedAfter,
} from './fold.ts'
export { letters } from './letters.ts'
export { type ActivityTokens, activityTime, activityTokensOf, changesBadge } from './live-activity.ts'
export {
  androidView,
  type Badge,
  type Click,
  type Foreground,
  fieldsOf,
  fieldsOfMessage,
  type Message,
  type MessageClass,
  messageObjects,
  type ObjectFields,
  type ObjectName,
  objectNames,
  optionsOf,
  replaceFields,
  sharedClick,
  titleAndBody,
  withReplaceKeysOf,
} from './message.ts'
export { foldNative, type NativeFold, type NativeResult } from './native.ts'
export { accepted, isSilence, type Outcome, type OutcomeKind } from './outcome.ts'
export { isPackageName } from './package-name.ts'
export {
  type DeviceGroup,
  type NewBatch,
  noPlan,
  type Plan,
  type PlanDevice,
  planDevices,
  planGroups,
  routeOf,
  targetsOf,
} from './plan.ts'
export {
  describeReason,
  type OwnReasonName,
  ownReasonNames,
  ownReasons,
  type Reason,
  vendorCodeOf,
  vendorReason,
} from './reason-codes.ts'
export { clip, groupReasons, type ReasonCount, type Why } from './reasons.ts'
export { breakerPause, isNever, probePause, type RecoveryPauses, recoveryPauses } from './recovery.ts'
export {
  pickRegion,
  regionNames,
  regionOfBinding,
  regionOfExtra,
  regionProblem,
  usualRegion,
} from './regions.ts'
export { type ChannelStatus, type Platform, platforms, type RouteRules, type Skipped } from './route.ts'
export {
  type Audience,
  batchSize,
  type Lane,
  type NewTask,
  type ShownTaskState,
  type Strategy,
  shownTaskStates,
  smallAudience,
  strategies,
} from './task.ts'
export { PATIENCE_SECONDS } from './verdict.ts'
