import { runProgram } from '@herald/program'
import { nativeGateway } from './gateway.ts'

await runProgram(nativeGateway())
