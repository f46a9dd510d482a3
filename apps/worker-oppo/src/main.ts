import { adapter } from '@herald/channels/oppo'
import { runChannelWorker } from '@herald/worker'

await runChannelWorker(adapter)
