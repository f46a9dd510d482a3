import { adapters } from '@herald/channels'
import { planner } from '@herald/planner'
import type { Service } from '@herald/program'
import { channelWorker } from '@herald/worker'
import { nativeGateway } from '@herald/worker-native'
import { frontApi } from './front-api.ts'
import type { House } from './house.ts'

/** Everything that runs in the one process, in the order of starting; it is stopped together. */
export function parts(house: House): Service[] {
  return [
    ...Object.values(adapters).map((adapter) => channelWorker(adapter)),
    planner,
    nativeGateway({ server: house.door.server }),
    frontApi(house),
  ]
}
