import { adapter } from '@herald/channels/xiaomi'
import { runChannelWorker } from '@herald/worker'

await runChannelWorker(adapter)
