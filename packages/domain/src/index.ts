export {
  type Channel,
  channelOfProvider,
  channelOfPublicName,
  channels,
  defaultSequence,
  providerOf,
  publicChannelNames,
  publicName,
  type SequenceWord,
  sequenceWords,
  upsChannels,
  type VendorChannel,
  vendorChannels,
} from './channel-names.ts'
export { type Answer, type Fold, foldAttempt, type Sorted, sortAnswers, triedAfter } from './fold.ts'
export { letters } from './letters.ts'
export {
  androidView,
  type Badge,
  type Click,
  type Message,
  type MessageClass,
  replaceKey,
  titleAndBody,
} from './message.ts'
export { foldNative, type NativeAnswer, type NativeFold } from './native.ts'
export { accepted, type Outcome, type OutcomeKind } from './outcome.ts'
export { type NewBatch, type Plan, type PlanDevice, planDevices, routeOf, targetsOf } from './plan.ts'
export { clip, gatherReasons, type Reason } from './reasons.ts'
export type { ChannelStatus, Platform, RouteRules, Skipped } from './route.ts'
export {
  type Audience,
  batchSize,
  type Lane,
  type NewTask,
  type Strategy,
  smallAudience,
  strategies,
  type TaskState,
  taskStates,
} from './task.ts'
export { parseVerbatim } from './verbatim-json.ts'
