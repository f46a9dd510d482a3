export { runStandalone } from './standalone.ts'
