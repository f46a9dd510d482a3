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
export {
  type Answer,
  clip,
  type Fold,
  foldAttempt,
  gatherReasons,
  letters,
  ownerChanged,
  type Reason,
  type Sorted,
  sortAnswers,
  triedAfter,
} from './fold.ts'
export {
  type AndroidOptions,
  type AndroidView,
  androidView,
  type Badge,
  type Click,
  type FlymeOptions,
  type HonorOptions,
  type HuaweiOptions,
  type IosOptions,
  type Message,
  type MessageClass,
  type OppoOptions,
  replaceKey,
  titleAndBody,
  type VivoOptions,
  type XiaomiOptions,
} from './message.ts'
export { foldNative, type InboxRows, type NativeAnswer, type NativeFold } from './native.ts'
export { accepted, type Outcome, type OutcomeKind } from './outcome.ts'
export {
  type NewBatch,
  type Plan,
  type PlanBinding,
  type PlanDevice,
  planDevices,
  routeOf,
  targetsOf,
} from './plan.ts'
export {
  type Passed,
  type Route,
  type RouteBinding,
  type RouteDevice,
  type RouteRules,
  route,
  type Way,
} from './route.ts'
export {
  type Audience,
  batchSize,
  type Lane,
  lanes,
  type NewTask,
  type Strategy,
  smallAudience,
  strategies,
  type TaskState,
  taskStates,
} from './task.ts'
export { parseVerbatim } from './verbatim-json.ts'
export { judge, patience, type Trouble, type Verdict } from './verdict.ts'
