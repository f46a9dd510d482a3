import { adapters } from '@herald/channels/all'
import { courier } from '@herald/courier'
import { planner } from '@herald/planner'
import type { Service } from '@herald/program'
import { channelWorker } from '@herald/worker'
import { nativeGateway } from '@herald/worker-native'
import { apiService, type PartDeps } from './api-service.ts'

/** All services of the process. `first` completes the demo application before the others send anything. */
export function parts(deps: PartDeps): { first: Service; others: Service[] } {
  return {
    first: apiService(deps),
    others: [
      ...Object.values(adapters).map((adapter) => channelWorker(adapter)),
      planner,
      courier(),
      nativeGateway({ server: deps.listener.server }),
    ],
  }
}
