import { adapters } from '@herald/channels'
import { planner } from '@herald/planner'
import type { Service } from '@herald/program'
import { channelWorker } from '@herald/worker'
import type { DemoCredentials } from './demo/credentials.ts'
import type { Simulation } from './demo/simulators.ts'
import type { DemoFile } from './demo-file.ts'
import { frontApi } from './front-api.ts'
import type { FrontDoor } from './front-door.ts'

/** What parts of the standalone may use beside the context that every service gets. */
export type House = {
  door: FrontDoor
  demo: DemoFile
  credentials: DemoCredentials
  simulation: Simulation
}

/** Everything that runs in the one process, in the order of starting; it is stopped together. */
export function parts(house: House): Service[] {
  return [
    ...Object.values(adapters).map((adapter) => channelWorker(adapter)),
    planner,
    // The native gateway stands here: it takes the upgrades to /native from house.door.server.
    frontApi(house),
  ]
}
