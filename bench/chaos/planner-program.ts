import { planner } from '@herald/planner'
import { runProgram } from '@herald/program'
import { withShortPauses } from './short-pauses.ts'

await runProgram(withShortPauses(planner))
