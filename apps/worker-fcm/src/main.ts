import { fcm } from '@herald/channels'
import { runChannelWorker } from '@herald/worker'

await runChannelWorker(fcm)
