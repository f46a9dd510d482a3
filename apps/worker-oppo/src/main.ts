import { oppo } from '@herald/channels'
import { runChannelWorker } from '@herald/worker'

await runChannelWorker(oppo)
