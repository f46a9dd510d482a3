import { adapter } from '@herald/channels/acme'
import { runChannelWorker } from '@herald/worker'

await runChannelWorker(adapter)
