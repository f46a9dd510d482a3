export { erase } from './erase.ts'
export type { Person } from './person.ts'
