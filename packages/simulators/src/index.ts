export {
  type Demo,
  type DemoCertificate,
  type DemoDevice,
  type DemoMode,
  loadDemo,
  packageName,
} from './demo.ts'
export type { TaskLedger } from './frame/ledger.ts'
export type { Faults, Simulator } from './simulator.ts'
