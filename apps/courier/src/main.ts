import { runProgram } from '@herald/program'
import { courier } from './courier.ts'

await runProgram(courier())
