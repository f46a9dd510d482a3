export type { Int64 } from './exact-json.ts'
export { HeraldError } from './herald-error.ts'
export { HeraldOperator, type HeraldOperatorOptions } from './herald-operator.ts'
export { HeraldServer, type HeraldServerOptions } from './herald-server.ts'
export type { Audience, Message, Notification, Setting, Strategy } from './notification.ts'
export type {
  AdminTokenRecord,
  ApplicationSettings,
  ApplicationView,
  Attributes,
  CertificateCheck,
  CertificateHold,
  CertificateRecord,
  CertificateView,
  DeviceChange,
  DeviceSelector,
  DeviceView,
  Environment,
  Erasure,
  Explanation,
  FailureGroup,
  GroupView,
  Identity,
  ImportedDevice,
  ImportReport,
  NewApplication,
  NewBinding,
  NewCertificate,
  NewIdentity,
  Page,
  PageOptions,
  Platform,
  PutDevice,
  PutDeviceResult,
  SettingsChange,
  TagChange,
  TagChangeReport,
  TagView,
  TaskStatistics,
  TaskView,
  TokenRecord,
  UserView,
} from './records.ts'
export type { AndroidFields, Provider, VendorFields, VendorName } from './vendors.ts'
