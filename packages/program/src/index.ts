export { type OpenContext, openContext } from './context.ts'
export type { Dependencies, Dependency } from './dependencies.ts'
export { DRAIN_MS, runProgram } from './run-program.ts'
export type { Context, Running, Service } from './service.ts'
