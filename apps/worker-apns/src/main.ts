import { apns } from '@herald/channels'
import { runChannelWorker } from '@herald/worker'

await runChannelWorker(apns)
