import { huawei } from '@herald/channels'
import { runChannelWorker } from '@herald/worker'

await runChannelWorker(huawei)
