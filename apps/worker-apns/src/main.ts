import { adapter } from '@herald/channels/apns'
import { runChannelWorker } from '@herald/worker'

await runChannelWorker(adapter)
