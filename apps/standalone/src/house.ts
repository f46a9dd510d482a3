import type { DemoCredentials } from './demo/credentials.ts'
import type { Simulation } from './demo/simulators.ts'
import type { DemoFile } from './demo-file.ts'
import type { FrontDoor } from './front-door.ts'

/** What parts of the standalone may use beside the context that every service gets. */
export type House = {
  door: FrontDoor
  demo: DemoFile
  credentials: DemoCredentials
  simulation: Simulation
}
