export {
  type ActivityTarget,
  activitiesPerDevice,
  activityKey,
  bindActivity,
  endActivities,
  hasActivity,
  takeActivities,
  unbindActivity,
} from './activities.ts'
export { bind, DeviceGone, unbind } from './bindings.ts'
export type { BindingChange, DeviceChange } from './device-changes.ts'
export {
  type DeviceResult,
  type DeviceWriter,
  openDeviceWriter,
  type RefusedDevice,
} from './device-writer.ts'
export {
  claimDevice,
  clearAlias,
  type Device,
  type DeviceDetails,
  findDevice,
  listDevices,
  type Registered,
  registerDevice,
  removeDevice,
  replacePushToken,
  setAlias,
  setBadge,
  UserGone,
} from './devices.ts'
export { createLastSeen, type LastSeen } from './last-seen.ts'
export { hashOf, hideClearTokens, openPushTokens, type PushTokens } from './push-tokens.ts'
export { retireReported } from './reported-tokens.ts'
export { markSuspect, updateSuspects } from './retired-tokens.ts'
export { changeTagMembers, type DeviceKey, listTags } from './tag-members.ts'
export { addTags, removeTags, tagsOf, tagsPerDevice } from './tags.ts'
