import { runStandalone } from './standalone.ts'

await runStandalone()
