import { vivo } from '@herald/channels'
import { runChannelWorker } from '@herald/worker'

await runChannelWorker(vivo)
