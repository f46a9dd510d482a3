import { xiaomi } from '@herald/channels'
import { runChannelWorker } from '@herald/worker'

await runChannelWorker(xiaomi)
