import { adapters } from '@herald/channels'
import { planner } from '@herald/planner'
import type { Service } from '@herald/program'
import { channelWorker } from '@herald/worker'
import { nativeGateway } from '@herald/worker-native'
import { frontApi } from './front-api.ts'
import type { House } from './house.ts'

/** Everything that runs in the one process: the API puts the demo in order before anything is sent. It is stopped together. */
export function parts(house: House): { first: Service; rest: Service[] } {
  return {
    first: frontApi(house),
    rest: [
      ...Object.values(adapters).map((adapter) => channelWorker(adapter)),
      planner,
      nativeGateway({ server: house.door.server }),
    ],
  }
}
