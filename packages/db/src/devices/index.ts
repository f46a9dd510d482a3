export { bind, unbind } from './bindings.ts'
export { type DeviceImport, type ImportDevice, openDeviceImport } from './device-import.ts'
export {
  claimDevice,
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
} from './devices.ts'
export type { ImportBinding } from './import-bindings.ts'
export { hashOf, hideClearTokens, openPushTokens, type PushTokens } from './push-tokens.ts'
export { retireReported } from './reported-tokens.ts'
export { markSuspect, updateSuspects } from './retired-tokens.ts'
export { addTags, removeTags, tagsOf, tagsPerDevice } from './tags.ts'
