import type { ChannelAdapter } from '@herald/channels'
import type { Service } from '@herald/program'
import { channelWorker } from '@herald/worker'

/** Runs the workers of several vendors in one process. */
export function workersOf(name: string, adapters: readonly ChannelAdapter[]): Service {
  return {
    name,
    async start(context) {
      const running = await Promise.all(adapters.map((adapter) => channelWorker(adapter).start(context)))
      return {
        async stop() {
          await Promise.all(running.map((worker) => worker.stop()))
        },
      }
    },
  }
}
