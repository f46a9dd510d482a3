export type { Int64 } from './exact-json.ts'
export { HeraldError } from './herald-error.ts'
export { HeraldOperator, type HeraldOperatorOptions } from './herald-operator.ts'
export { HeraldServer, type HeraldServerOptions } from './herald-server.ts'
export type { Audience, Message, Notification, Setting } from './notification.ts'
export type {
  AdminTokenRecord,
  ApplicationSettings,
  ApplicationView,
  CertificateCheck,
  CertificateHold,
  CertificateRecord,
  CertificateView,
  DeviceView,
  Environment,
  Explanation,
  FailureGroup,
  GroupView,
  ImportedDevice,
  ImportReport,
  NewApplication,
  NewCertificate,
  Page,
  PageOptions,
  Platform,
  TaskStatistics,
  TaskView,
  TokenRecord,
  UserView,
} from './records.ts'
export type { AndroidFields, Provider, VendorFields } from './vendors.ts'
