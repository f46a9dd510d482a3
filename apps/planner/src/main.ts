import { runProgram } from '@herald/program'
import { planner } from './planner.ts'

await runProgram(planner)
