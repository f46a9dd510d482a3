import { adapters } from '@herald/channels'
import { planner } from '@herald/planner'
import type { Service } from '@herald/program'
import { channelWorker } from '@herald/worker'
import type { DemoFile } from './demo-file.ts'
import type { FrontDoor } from './front-door.ts'

/** What parts of the standalone may use beside the context that every service gets. */
export type House = { door: FrontDoor; demo: DemoFile }

/** Everything that runs in the one process, in the order of starting; it is stopped in the reverse order. */
export function parts(_house: House): Service[] {
  return [...Object.values(adapters).map((adapter) => channelWorker(adapter)), planner]
}
