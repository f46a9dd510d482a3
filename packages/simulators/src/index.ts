export {
  type Demo,
  type DemoCertificate,
  type DemoDevice,
  type DemoMode,
  loadDemo,
  packageName,
} from './demo.ts'
export type { Faults, Simulator } from './simulator.ts'
