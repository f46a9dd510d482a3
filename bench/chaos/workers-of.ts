import type { ChannelAdapter } from '@herald/channels'
import type { Service } from '@herald/program'
import { channelWorker } from '@herald/worker'

/** The workers of several vendors in one process: what is killed is the process, not the channel. */
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
