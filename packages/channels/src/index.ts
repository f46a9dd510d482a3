export { adapters } from './all.ts'
export { apns } from './apns/channel.ts'
export { startApnsSimulator } from './apns/simulator.ts'
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
  type Receipt,
  type Recipient,
  type Transport,
  type TransportDeps,
  type Unsupported,
  type VendorUrls,
} from './channel.ts'
export { fcm } from './fcm/channel.ts'
export { startFcmSimulator } from './fcm/simulator.ts'
export { honor } from './honor/channel.ts'
export { startHonorSimulator } from './honor/simulator.ts'
export { huawei } from './huawei/channel.ts'
export { startHuaweiSimulator } from './huawei/simulator.ts'
export { meizu } from './meizu/channel.ts'
export { startMeizuSimulator } from './meizu/simulator.ts'
export { oppo } from './oppo/channel.ts'
export { startOppoSimulator } from './oppo/simulator.ts'
export type { Faults, Simulator } from './simulator.ts'
export { stubChannel } from './stub/channel.ts'
export { type StubEntry, startStubServer } from './stub/server.ts'
export { vivo } from './vivo/channel.ts'
export { startVivoSimulator } from './vivo/simulator.ts'
export { xiaomi } from './xiaomi/channel.ts'
export { startXiaomiSimulator } from './xiaomi/simulator.ts'
