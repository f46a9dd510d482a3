import { meizu } from '@herald/channels'
import { runChannelWorker } from '@herald/worker'

await runChannelWorker(meizu)
