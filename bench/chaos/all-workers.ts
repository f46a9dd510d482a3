import { adapters } from '@herald/channels'
import { runProgram, type Service } from '@herald/program'
import { channelWorker } from '@herald/worker'

/** The workers of all vendors in one process: what is killed in a short drill is the process, not the channel. */
const workers: Service = {
  name: 'all-workers',
  async start(context) {
    const running = await Promise.all(
      Object.values(adapters).map((adapter) => channelWorker(adapter).start(context)),
    )
    return {
      async stop() {
        await Promise.all(running.map((worker) => worker.stop()))
      },
    }
  },
}

await runProgram(workers)
