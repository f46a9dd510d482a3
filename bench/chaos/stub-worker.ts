import { stubChannel } from '@herald/channels'
import { runProgram, type Service } from '@herald/program'
import { channelWorker } from '@herald/worker'
import { stubbed } from './stubbed-channels.ts'

const [url] = process.argv.slice(2)
if (!url) throw new Error('usage: stub-worker.ts <stub url>')

const adapters = stubbed.map((name) => stubChannel(name, { url, onePerDevice: name === 'xiaomi' }))

/** All stubbed channels in one process: what is killed is the process, not the channel. */
const workers: Service = {
  name: 'stub-worker',
  async start(context) {
    const running = await Promise.all(adapters.map((adapter) => channelWorker(adapter).start(context)))
    return {
      async stop() {
        await Promise.all(running.map((worker) => worker.stop()))
      },
    }
  },
}

await runProgram(workers, {
  certificateAdapters: Object.fromEntries(adapters.map((adapter) => [adapter.name, adapter])),
})
