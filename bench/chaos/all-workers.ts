import { adapters } from '@herald/channels/all'
import { runProgram } from '@herald/program'
import { workersOf } from './workers-of.ts'

await runProgram(workersOf('all-workers', Object.values(adapters)))
