export { oncePerTask, UnreadableTask } from '../tasks/planned-task.ts'
export { type Acknowledgement, acknowledge } from './acknowledge.ts'
export { type DueFallback, type FallbackPlan, fallBackDue } from './fallback.ts'
export { sendFromInbox, type WaitingMessage, waitingInbox } from './inbox.ts'
export { type GatewayNews, markGateway, takeNews, waitingDevices } from './news.ts'
export { type Orphan, type OrphanedBatch, settleOrphans } from './orphans.ts'
export {
  type ConnectedDevice,
  changeAway,
  connectDevices,
  dropPresence,
  fenceNodes,
  gatewayNodes,
  joinNode,
  leaveNode,
  type OpenConnection,
  type PresenceChange,
  type PresenceConnection,
  reconcilePresence,
  renewNode,
} from './presence.ts'
export { type NativeSettlement, ownerChangedSince, settleNative } from './settle-native.ts'
