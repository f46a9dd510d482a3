export { bind, unbind } from './bindings.ts'
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
export type { ImportBinding } from './import-bindings.ts'
export { retireReported } from './reported-tokens.ts'
export { tendSuspects, unretireWindow } from './suspects.ts'
export { addTags, removeTags, tagsOf, tagsPerDevice } from './tags.ts'
