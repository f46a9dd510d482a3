export type { Int64 } from './exact-json.ts'
export { HeraldError } from './herald-error.ts'
export { HeraldOperator, type HeraldOperatorOptions } from './herald-operator.ts'
export { HeraldServer, type HeraldServerOptions } from './herald-server.ts'
export type {
  AndroidFields,
  Audience,
  FlymeFields,
  HonorFields,
  HuaweiFields,
  IosFields,
  Message,
  Notification,
  OppoFields,
  Setting,
  VivoFields,
  XiaomiFields,
} from './notification.ts'
export type {
  AdminTokenRecord,
  ApplicationView,
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
  PageWish,
  Platform,
  Provider,
  TaskStatistics,
  TaskView,
  TokenRecord,
  UserView,
} from './records.ts'
