import { runProgram } from '@herald/program'
import { stubChannel } from '@herald/testkit/stub-channel'
import { workersOf } from './workers-of.ts'

const [url] = process.argv.slice(2)
if (!url) throw new Error('usage: stub-worker.ts <stub url>')

/** Channels that send to the stub; for the API and the planner they are real ones. */
const stubbed = ['xiaomi', 'oppo', 'huawei'] as const
const adapters = stubbed.map((name) => stubChannel(name, { url, onePerDevice: name === 'xiaomi' }))

await runProgram(workersOf('stub-worker', adapters), {
  certificateAdapters: Object.fromEntries(adapters.map((adapter) => [adapter.name, adapter])),
})
