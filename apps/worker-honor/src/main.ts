import { honor } from '@herald/channels'
import { runChannelWorker } from '@herald/worker'

await runChannelWorker(honor)
