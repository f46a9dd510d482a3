import { adapter } from '@herald/channels/vivo'
import { runChannelWorker } from '@herald/worker'

await runChannelWorker(adapter)
