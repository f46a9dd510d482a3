import { runProgram } from '@herald/program'
import { api } from './serve-api.ts'

await runProgram(api)
