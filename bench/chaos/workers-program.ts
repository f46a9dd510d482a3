import { adapters } from '@herald/channels/all'
import type { VendorChannel } from '@herald/domain'
import { runProgram } from '@herald/program'
import { withShortPauses } from './short-pauses.ts'
import { workersOf } from './workers-of.ts'

// `workers-program.ts <channel>…`
const channels = process.argv.slice(2) as VendorChannel[]
const name = channels.length === 1 ? `worker-${channels[0]}` : 'workers'
await runProgram(
  withShortPauses(
    workersOf(
      name,
      channels.map((channel) => adapters[channel]!),
    ),
  ),
)
