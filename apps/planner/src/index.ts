export { planner } from './planner.ts'
