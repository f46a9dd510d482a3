import { adapter } from '@herald/channels/huawei'
import { runChannelWorker } from '@herald/worker'

await runChannelWorker(adapter)
