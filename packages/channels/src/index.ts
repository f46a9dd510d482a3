export { adapters } from './all.ts'
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
export { oppo } from './oppo/channel.ts'
export { type OppoSimApp, type OppoSimulator, startOppoSimulator } from './oppo/simulator.ts'
export type { Faults, Ledger, Simulator } from './simulator.ts'
export { xiaomi } from './xiaomi/channel.ts'
export { startXiaomiSimulator, type XiaomiSimApp, type XiaomiSimulator } from './xiaomi/simulator.ts'
