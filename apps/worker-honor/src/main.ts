import { adapter } from '@herald/channels/honor'
import { runChannelWorker } from '@herald/worker'

await runChannelWorker(adapter)
