import { adapter } from '@herald/channels/fcm'
import { runChannelWorker } from '@herald/worker'

await runChannelWorker(adapter)
