export { type Acknowledgement, acknowledge } from './acknowledge.ts'
export { type DueFallback, type FallbackPlan, fallBackDue } from './fallback.ts'
export { sendFromInbox, type Waiting, waitingInbox } from './inbox.ts'
export { type OrphanedBatch, settleOrphans } from './orphans.ts'
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
export { movedSince, type NativeSettlement, settleNative } from './settle-native.ts'
