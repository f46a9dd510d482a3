export { adapters } from './all.ts'
export { apns } from './apns/channel.ts'
export {
  type ApnsSimKey,
  type ApnsSimulator,
  type ApnsSimulatorOptions,
  startApnsSimulator,
} from './apns/simulator.ts'
export {
  type CallbackAnswer,
  type CallbackReading,
  type CallbackRequest,
  type Certificate,
  CertificateProblem,
  type ChannelAdapter,
  type CheckResult,
  isUnsupported,
  type Limits,
  type MintedSession,
  type Receipt,
  type Recipient,
  type RegionUrlName,
  type SendContext,
  type Task,
  type Transport,
  type TransportDeps,
  type Unsupported,
  type UrlName,
  type VendorUrls,
} from './channel.ts'
export { fcm } from './fcm/channel.ts'
export {
  type FcmSimAccount,
  type FcmSimulator,
  type FcmSimulatorOptions,
  startFcmSimulator,
} from './fcm/simulator.ts'
export { honor } from './honor/channel.ts'
export {
  type HonorSimulator,
  type HonorSimulatorOptions,
  startHonorSimulator,
} from './honor/simulator.ts'
export { huawei } from './huawei/channel.ts'
export {
  type HuaweiSimulator,
  type HuaweiSimulatorOptions,
  startHuaweiSimulator,
} from './huawei/simulator.ts'
export { meizu } from './meizu/channel.ts'
export { type MeizuSimulator, type MeizuSimulatorOptions, startMeizuSimulator } from './meizu/simulator.ts'
export { oppo } from './oppo/channel.ts'
export { type OppoSimApp, type OppoSimulator, startOppoSimulator } from './oppo/simulator.ts'
export type { Faults, Ledger, Simulator } from './simulator.ts'
export { stubChannel } from './stub/channel.ts'
export { type StubEntry, type StubServer, startStubServer } from './stub/server.ts'
export { vivo } from './vivo/channel.ts'
export { startVivoSimulator, type VivoSimulator, type VivoSimulatorOptions } from './vivo/simulator.ts'
export { xiaomi } from './xiaomi/channel.ts'
export { startXiaomiSimulator, type XiaomiSimApp, type XiaomiSimulator } from './xiaomi/simulator.ts'
