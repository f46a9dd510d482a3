import { adapter } from '@herald/channels/meizu'
import { runChannelWorker } from '@herald/worker'

await runChannelWorker(adapter)
